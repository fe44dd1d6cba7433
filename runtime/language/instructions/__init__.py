"""What the lines of a program mean: each decoded once, into a typed instruction with exact and prose operands."""
