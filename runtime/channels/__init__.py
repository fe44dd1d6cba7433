"""Conduits among participants."""
