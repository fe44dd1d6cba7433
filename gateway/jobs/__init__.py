"""Work done at set times by one node of all: schedules, retention, erasure."""
