"""Meetings: channels with a life cycle."""
