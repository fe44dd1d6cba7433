"""The texts that a model is given."""
