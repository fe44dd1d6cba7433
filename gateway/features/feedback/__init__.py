"""Feedback: ratings by people of what agents said, counted for owners."""
