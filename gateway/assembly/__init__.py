"""What a process is made of: the only modules that name concrete stores, models and platforms."""
