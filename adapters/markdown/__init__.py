"""Markdown that is still being written: closed for display, cut into pages, written for a platform."""
