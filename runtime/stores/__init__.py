"""The ports through which sessions and nodes are stored."""
