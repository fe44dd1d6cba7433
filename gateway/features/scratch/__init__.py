"""Scratch rooms: copies of sessions, at any moment of their past, that owners try things with."""
