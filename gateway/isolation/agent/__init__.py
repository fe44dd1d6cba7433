"""`parley agent`: the process that executes one isolated task."""
