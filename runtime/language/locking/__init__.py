"""What a model made of the steps that no rule knows: kept beside the program, and checked."""
