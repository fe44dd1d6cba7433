"""The node's side of isolated tasks: their processes, and what those may ask for."""
