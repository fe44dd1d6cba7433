"""The permissions that the app needs on Slack, and the manifest that asks for exactly these. Pure."""

from __future__ import annotations

from typing import Any, Final

from adapters.slack.codec.interactions import SLASH_COMMAND
from runtime.core.texts import Texts

SCOPES: Final = (
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "chat:write.customize",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
)
ESSENTIAL: Final = ("channels:history", "chat:write", "im:history")
"""The scopes without which an app cannot hear or speak at all."""
OWN_NAMES: Final = "chat:write.customize"
"""The scope without which every agent appears under the bot's name."""
AGENT: Final = "assistant:write"
"""The scope of an app that is declared an agent: titles, prompts and the stop button."""
EVENTS: Final = (
    "agent_session_stopped",
    "app_context_changed",
    "app_home_opened",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "reaction_added",
    "reaction_removed",
)
"""The events that Slack must send. It sends `app_home_opened` for an `agent_view`, `assistant_thread_started` for an
`assistant_view`, which new apps cannot be (docs.slack.dev/ai/migrating-to-agent-messaging). What a person looks at
comes with each message to an app that takes `app_context_changed`."""
INSTALLATION_EVENTS: Final = ("app_uninstalled", "tokens_revoked")


def lacking(scopes: frozenset[str]) -> tuple[str, ...]:
    """The missing scopes, as far as known; no scopes at all means that Slack did not list them."""
    return tuple(scope for scope in SCOPES if scope not in scopes) if scopes else ()


def manifest(
    name: str, texts: Texts, *, url: str | None = None, socket: bool = True, several: bool = False
) -> dict[str, Any]:
    """The app's manifest (docs.slack.dev, app manifest reference).

    `url` is the gateway's public address, for the app whose events come by HTTP (not `socket`), and for one that is
    installed in several workspaces.
    """
    hooks = None if url is None else f"{url.rstrip('/')}/hooks/slack"
    events = None if hooks is None or socket else f"{hooks}/events"
    command: dict[str, Any] = {
        "command": SLASH_COMMAND,
        "description": texts("about.command"),
        "usage_hint": "[help | start | new | stop | status | programs]",
        "should_escape": False,
    }
    oauth: dict[str, Any] = {"scopes": {"bot": list(SCOPES)}}
    if several and hooks is not None:
        oauth["redirect_urls"] = [f"{hooks}/oauth"]
    subscribed = sorted([*EVENTS, *INSTALLATION_EVENTS]) if several else list(EVENTS)
    return {
        "display_information": {"name": name, "description": texts("about.agents")},
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "agent_view": {"agent_description": texts("about.agents")},
            "bot_user": {"display_name": name, "always_online": True},
            "slash_commands": [command | _at(events, "url")],
        },
        "oauth_config": oauth,
        "settings": {
            "event_subscriptions": {**_at(events, "request_url"), "bot_events": subscribed},
            "interactivity": {"is_enabled": True, **_at(events, "request_url")},
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket,
            "token_rotation_enabled": False,
        },
    }


def _at(address: str | None, key: str) -> dict[str, Any]:
    return {} if address is None else {key: address}
