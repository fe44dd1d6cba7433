"""The sandbox for model-written code."""
