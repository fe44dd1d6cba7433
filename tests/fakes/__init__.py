"""Clocks, scripted models and platform servers for tests."""
