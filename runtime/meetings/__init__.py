"""Channels with a life cycle."""
