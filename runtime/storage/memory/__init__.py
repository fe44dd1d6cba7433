"""Sessions in memory: a program at the terminal, for as long as the process lives."""
