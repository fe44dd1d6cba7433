"""Schedules that people and programs make: the answers to /schedule, and what comes at the times."""
