"""Servers of models, on loopback."""
