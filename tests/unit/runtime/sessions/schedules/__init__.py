"""The orders, results and ends of tasks."""
