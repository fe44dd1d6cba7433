"""What Parley is connected with: platforms, clients, participants, collectors."""
