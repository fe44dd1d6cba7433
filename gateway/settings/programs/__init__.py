"""How programs run: models, memory, places, schedules, routes."""
