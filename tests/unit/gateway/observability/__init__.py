"""Unit tests of the subscribers of the bus."""
