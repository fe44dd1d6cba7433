"""Playbooks that start without a call."""
