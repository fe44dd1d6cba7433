"""A small server of MCP. Parley starts it for weather.pb; any program may use such a server, written by anybody."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

SKIES = {"oslo": ["snow", "snow", "clear"], "rome": ["clear", "clear", "rain"], "lima": ["fog", "fog", "fog"]}

mcp = MCPServer("weather")


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def forecast(city: str, days: int = 3) -> list[str]:
    """The sky of the next days, at most three."""
    skies = SKIES.get(city.strip().lower())
    if skies is None:
        raise ToolError(f"there is no forecast for {city}; there are forecasts for {', '.join(SKIES)}")
    return skies[:days]


if __name__ == "__main__":
    mcp.run()
