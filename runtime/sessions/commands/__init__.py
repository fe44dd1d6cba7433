"""Commands of people to a session: look, undo, fork, merge, and those about meetings."""
