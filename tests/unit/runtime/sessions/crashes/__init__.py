"""Crashes at every point of a session."""
