"""Sessions as tests for `parley test`."""
