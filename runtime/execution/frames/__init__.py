"""Playbooks in execution: their frames, the calls that these make, and what is told of them."""
