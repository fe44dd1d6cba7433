"""Ports for what operates a gateway: nodes, usage, reports, traces, dead letters."""
