"""Servers of remote agents, spoken to over MCP."""
