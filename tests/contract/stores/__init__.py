"""The contracts of the stores that nodes share."""
