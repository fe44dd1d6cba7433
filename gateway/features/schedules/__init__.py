"""Schedules: what people, programs and the settings have said at set times, and how it went."""
