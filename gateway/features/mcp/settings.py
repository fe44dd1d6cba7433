"""The settings of MCP."""

from __future__ import annotations

from gateway.settings.clients import Clients
from gateway.settings.forms import SettingsSection
from runtime.core.errors import ConfigError


class McpSettings(SettingsSection):
    """Settings of MCP, over which clients order tasks, at /mcp."""

    on: bool = False

    def check(self, clients: Clients) -> None:
        """Raise ConfigError where nobody could use it."""
        if self.on and not clients:
            raise ConfigError("mcp.on is true without clients. Write [clients.<name>]: docs/connecting/mcp.md.")
