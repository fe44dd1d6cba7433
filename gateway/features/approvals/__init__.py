"""The questions of all sessions that wait for people's answer, and their answers from elsewhere."""
