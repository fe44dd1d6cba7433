"""Playbooks in execution: their frames, their calls, and the events about them."""
