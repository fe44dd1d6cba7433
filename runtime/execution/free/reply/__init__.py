"""A model's reply, read into statements while it is written."""
