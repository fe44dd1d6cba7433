"""People's commands to a session: views, undo, fork, merge, and those for meetings."""
