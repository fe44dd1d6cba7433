"""Voices."""
