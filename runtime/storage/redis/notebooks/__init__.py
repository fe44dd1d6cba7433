"""Notebooks on Redis."""
