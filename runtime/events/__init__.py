"""The vocabulary of the bus: a class for each event, by what it is about."""
