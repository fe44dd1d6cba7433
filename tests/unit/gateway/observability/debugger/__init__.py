"""The debug server, over its own protocol."""
