"""The Model Context Protocol for clients: public playbooks are tools."""
