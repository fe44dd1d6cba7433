"""The contract of every store of notebooks."""
