"""The meetings of a session as people see them: their places and their reports."""
