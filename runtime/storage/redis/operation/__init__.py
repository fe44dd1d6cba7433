"""What operates a gateway, in Redis: nodes, usage, reports, queue depths."""
