"""Calls of the Bot API: requests, failures, time limits."""
