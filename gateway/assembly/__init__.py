"""Assembly of a process: the only modules that name concrete stores, models and platforms."""
