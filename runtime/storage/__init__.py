"""Implementations of the store ports; only the composition root names them."""
