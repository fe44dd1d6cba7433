"""A program running in a conversation."""
