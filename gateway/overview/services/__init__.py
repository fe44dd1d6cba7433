"""Views of what the gateway asks of others: models, and the servers of tools."""
