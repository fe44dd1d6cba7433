"""Sizes, shapes and contracts of the code itself."""
