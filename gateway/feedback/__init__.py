"""Ratings of what agents said: counted, for owners."""
