"""Servers of remote agents."""
