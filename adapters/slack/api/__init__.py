"""Calls of Slack's API, and the workspaces in which they are made."""
