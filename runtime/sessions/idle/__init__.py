"""Sessions at rest: out of memory, waiting for times, and what brings them back."""
