"""Files that people send, on their way to sessions."""
