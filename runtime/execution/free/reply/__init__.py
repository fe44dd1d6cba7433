"""A model's reply, split into statements while it is written."""
