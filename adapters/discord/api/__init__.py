"""Calls of Discord's API: limits, failures, retries."""
