"""Slack, over slack-bolt."""
