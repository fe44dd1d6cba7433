"""Where a talk is played: its people, clock, models and answers."""
