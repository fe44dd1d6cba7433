"""The stage of a talk: its people, clock, models and answers."""
