"""The ways in which people log in to the web chat."""
