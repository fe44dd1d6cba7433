"""Acts of people and participants, brought to the agents of a session."""
