"""Settings of programs: models, memory, places, schedules, routes."""
