"""The Discord adapter against a Discord on loopback, over the real client library."""
