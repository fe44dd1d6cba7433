"""A Slack, as the real client library sees it."""
