"""Probable mistakes in a program."""
