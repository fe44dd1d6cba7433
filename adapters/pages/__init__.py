"""Pages on platforms: shown, edited, and marked with reactions and signs of work."""
