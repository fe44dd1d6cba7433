"""Playbooks that begin without a call."""
