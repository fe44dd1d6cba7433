"""The models that the settings name: opened, and checked against programs."""
