"""People's acts on Slack, received over a socket or by HTTP."""
