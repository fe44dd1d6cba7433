"""Platforms that are none: the least, the richest, and between."""
