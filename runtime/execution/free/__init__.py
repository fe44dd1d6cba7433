"""Statements that a model writes: read, checked and run in the sandbox."""
