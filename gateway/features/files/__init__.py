"""Files that people send, in the form in which a model takes them. Their bytes are decoded in workers alone."""
