"""Programs executed by whole sessions."""
