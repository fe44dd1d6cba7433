"""Schedules of growing texts within the rate limits of platforms."""
