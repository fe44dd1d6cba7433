"""The meaning of a program's lines: each decoded once, into a typed instruction with exact and prose operands."""
