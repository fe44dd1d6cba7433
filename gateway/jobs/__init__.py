"""Work done at set times by one node for all: schedules, retention, erasure."""
