"""Agents and their supervision."""
