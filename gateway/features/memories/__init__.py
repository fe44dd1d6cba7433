"""Memories: finding the few that matter, telling newer from older ones, and what is not remembered."""
