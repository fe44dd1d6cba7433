"""The vocabulary: no I/O, imports nothing of ours."""
