"""The model's process: what asks providers, and nothing else of Parley."""
