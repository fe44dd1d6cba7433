"""Extensions: what they declare, and how they are found and loaded."""
