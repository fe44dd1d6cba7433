"""The contract of every store that operates a gateway."""
