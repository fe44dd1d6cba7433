"""Meetings in places of their own."""
