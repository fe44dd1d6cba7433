"""Agents' messages, streams and indicators on Slack."""
