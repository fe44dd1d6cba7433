"""Servers of remote agents that are agents themselves, spoken to over A2A."""
