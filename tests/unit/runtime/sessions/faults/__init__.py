"""Stores, workers and answers that fail below a session."""
