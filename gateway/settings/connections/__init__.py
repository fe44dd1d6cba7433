"""Settings of connections: platforms, clients, participants, collectors."""
