"""Slack, over slack_sdk."""
