"""Playbooks that a model executes, and the models that are asked."""
