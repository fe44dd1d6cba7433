"""What is done once for a platform or a model, before the gateway uses it."""
