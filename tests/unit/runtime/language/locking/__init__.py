"""What a model made of free steps."""
