"""The contracts of the stores of sessions: tapes, lineage, snapshots, archive."""
