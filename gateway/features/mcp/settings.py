"""The settings of MCP."""

from __future__ import annotations

from gateway.settings.forms import SettingsSection


class McpSettings(SettingsSection):
    """Settings of MCP, over which clients order tasks, at /mcp."""

    on: bool = False
