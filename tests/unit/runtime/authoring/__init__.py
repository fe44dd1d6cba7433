"""Checks, explanations and formatting of programs."""
