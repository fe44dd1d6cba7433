"""Files that people send, read."""
