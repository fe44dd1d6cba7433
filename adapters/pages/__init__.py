"""Pages on platforms: shown and edited, with reactions and indicators of work."""
