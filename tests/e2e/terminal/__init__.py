"""What operators do from a terminal, in whole processes."""
