"""The command line, and what an operator sees."""
