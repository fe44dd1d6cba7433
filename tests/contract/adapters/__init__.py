"""The contract of every adapter."""
