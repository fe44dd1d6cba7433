"""Answers to interactions: a command, a button, completion while typing. Discord waits three seconds for the
first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from discord.http import Route

from adapters.discord.api.calls import DiscordCalls
from adapters.discord.codec.payload import DiscordWords, text_data

_EPHEMERAL: Final = 1 << 6
_SAY, _SAY_LATER, _CHANGE_LATER, _SUGGEST = 4, 5, 6, 8
_LONGEST_SUGGESTION: Final = 100


class InteractionApi:
    """Calls with an interaction's own token. Raise AlreadyDone after the first answer, NotDelivered when it is too
    late.
    """

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls

    async def say(self, interaction: Mapping[str, Any], words: DiscordWords, *, openly: bool = False) -> None:
        """Answer with a text, which only the person sees unless `openly`."""
        await self._respond(interaction, _SAY, text_data(words) | ({} if openly else {"flags": _EPHEMERAL}))

    async def promise(self, interaction: Mapping[str, Any]) -> None:
        """Announce a text, which must follow within a quarter of an hour."""
        await self._respond(interaction, _SAY_LATER, {"flags": _EPHEMERAL})

    async def keep_promise(self, interaction: Mapping[str, Any], words: DiscordWords) -> None:
        """Send the announced text, or put another one in the place of the first answer."""
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        route = Route("PATCH", path, webhook_id=str(interaction["application_id"]), webhook_token=interaction["token"])
        await self._calls.ask("completing the answer to a command", route, json=text_data(words))

    async def add(self, interaction: Mapping[str, Any], words: DiscordWords) -> None:
        """Send a further text, which only the person sees."""
        path = "/webhooks/{webhook_id}/{webhook_token}"
        route = Route("POST", path, webhook_id=str(interaction["application_id"]), webhook_token=interaction["token"])
        data = text_data(words) | {"flags": _EPHEMERAL}
        await self._calls.ask("going on with the answer to a command", route, json=data)

    async def accept(self, interaction: Mapping[str, Any]) -> None:
        """Acknowledge a press without a text."""
        await self._respond(interaction, _CHANGE_LATER, None)

    async def suggest(self, interaction: Mapping[str, Any], texts: Sequence[str]) -> None:
        """Offer completions while the person types."""
        fitting = [text for text in texts if len(text) <= _LONGEST_SUGGESTION]
        await self._respond(interaction, _SUGGEST, {"choices": [{"name": text, "value": text} for text in fitting]})

    async def _respond(self, interaction: Mapping[str, Any], kind: int, data: Any) -> None:
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        route = Route("POST", path, webhook_id=interaction["id"], webhook_token=interaction["token"])
        body = {"type": kind} if data is None else {"type": kind, "data": data}
        await self._calls.ask("answering a command or a press", route, json=body)
