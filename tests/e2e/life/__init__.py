"""Whole processes that are killed, stopped, restarted, and that wait."""
