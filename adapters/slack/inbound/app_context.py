"""The thing that a person has open in Slack while writing to the app, in words.

Slack tells it with the messages to an app with an `agent_view` that takes `app_context_changed`
(docs.slack.dev/changelog/2026/07/02/app-context): entities in the order of relevance.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from adapters.adapter import NOT_UNDERSTOOD
from adapters.recent import Recent
from adapters.slack.api.workspaces import Workspace
from runtime.core.errors import AdapterError
from runtime.core.texts import Texts

MOST_ENTITIES: Final = 3
"""The number of things named; Slack has the most relevant ones first."""

_NAMES_KEPT: Final = 1_000
_TYPE: Final = "slack#/types/"
_log = logging.getLogger(__name__)


class AppContexts:
    """Words for contexts, with the names of channels as far as the app may know them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._names = Recent[str, str](_NAMES_KEPT)

    async def in_words(self, context: Mapping[str, Any] | None, workspace: Workspace) -> str:
        """What the context names; "" for none, and for one of another form: the message counts without it."""
        try:
            entities = (context or {}).get("entities") or ()
            own = [one for one in entities if one.get("team_id") in (None, workspace.bot.team_id)]
            told = [await self._entity(one, workspace) for one in own[:MOST_ENTITIES]]
        except NOT_UNDERSTOOD as error:
            _log.warning("What somebody looks at on Slack is not understood", extra={"error": repr(error)})
            return ""
        return ", ".join(dict.fromkeys(text for text in told if text))

    async def _entity(self, entity: Mapping[str, Any], workspace: Workspace) -> str:
        value = entity["value"]
        match entity["type"].removeprefix(_TYPE):
            case "channel_id" if not value.startswith("D"):
                return self._texts("context.channel", name=await self._name(value, workspace))
            case "message_context" if not value["channel_id"].startswith("D"):
                name = await self._name(value["channel_id"], workspace)
                return self._texts("context.message", name=name, number=value["message_ts"])
            case "canvas_id":
                return self._texts("context.canvas", id=value)
            case "list_id":
                return self._texts("context.list", id=value)
        return ""  # a private conversation, or a kind that is new

    async def _name(self, channel: str, workspace: Workspace) -> str:
        """The channel's name; its id where Slack does not tell the app."""
        key = f"{workspace.bot.team_id}:{channel}"
        name = self._names.get(key)
        if name is None:
            try:
                name = await workspace.api.channel_name(channel)
            except AdapterError as error:
                _log.info("The name of a channel on Slack cannot be looked up", extra={"error": str(error)})
                return channel
            self._names.keep(key, name)
        return name
