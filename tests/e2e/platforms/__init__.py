"""Whole gateways on the chat platforms."""
