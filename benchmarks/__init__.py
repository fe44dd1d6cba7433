"""Measured figures, each printed with its floor."""
