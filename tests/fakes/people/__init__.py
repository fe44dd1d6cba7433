"""Participants and players."""
