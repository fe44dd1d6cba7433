"""Sessions on Redis: their tapes, records, index, archival and removal."""
