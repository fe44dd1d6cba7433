"""The Slack adapter and a Slack on loopback, checked against each other."""
