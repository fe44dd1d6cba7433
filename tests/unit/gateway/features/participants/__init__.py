"""Participants in other processes."""
