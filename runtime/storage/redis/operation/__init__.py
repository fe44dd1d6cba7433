"""Stores for operating a gateway, in Redis: nodes, usage, reports, queue depths."""
