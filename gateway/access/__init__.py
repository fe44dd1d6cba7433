"""Access to the agents: admission, roles and the people who are known."""
