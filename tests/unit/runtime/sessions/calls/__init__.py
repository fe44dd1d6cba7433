"""Built-in calls in whole sessions."""
