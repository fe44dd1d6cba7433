"""The vocabulary."""
