"""The language model: port and providers."""
