"""Playbooks in Python."""
