"""The other side of protocols: A2A, MCP, the debug adapter protocol."""
