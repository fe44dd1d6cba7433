"""API calls with a secret in their address, with which the bot's token is not sent: of webhooks, and answers to
interactions (a command, a button, completion while typing), of which Discord waits three seconds for the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from discord.http import Route
from msgspec import Struct

from adapters.discord.api.bot import with_id
from adapters.discord.api.calls import DiscordCalls
from adapters.discord.codec.addresses import DiscordBot
from adapters.discord.codec.payload import DiscordPost, DiscordWords, choice_rows, post_data, text_data
from runtime.core.message import Choice

_EXECUTE: Final = "/webhooks/{webhook_id}/{webhook_token}"
_MESSAGE: Final = _EXECUTE + "/messages/{message_id}"

_EPHEMERAL: Final = 1 << 6
_SAY, _SAY_LATER, _CHANGE_LATER, _SUGGEST = 4, 5, 6, 8
_LONGEST_SUGGESTION: Final = 100


class DiscordHook(Struct, frozen=True):
    """A webhook of ours; `token` is as secret as the bot's."""

    id: str
    token: str
    name: str = ""
    server: str | None = None


class WebhookSpot(Struct, frozen=True):
    """The place where a webhook speaks: a channel, or a thread of it."""

    channel: str
    thread: str | None

    @property
    def place(self) -> str:
        """The id of the messages' place: a thread is a channel to Discord."""
        return self.thread or self.channel


class HookApi(Struct, frozen=True):
    """Calls about and through webhooks, one attempt each. Those that take a Hook also raise HookGone."""

    _calls: DiscordCalls

    async def of_channel(self, channel_id: str, us: DiscordBot) -> list[DiscordHook]:
        """Our webhooks in a channel: those of our application, also where Discord tells only who made them."""
        route = Route("GET", "/channels/{channel_id}/webhooks", channel_id=channel_id)

        def ours(found: Any) -> list[DiscordHook]:
            return [_hook(hook) for hook in found if hook.get("token") and _made_by(hook, us)]

        return await self._calls.read("reading webhooks", route, ours)

    async def make(self, channel_id: str, name: str) -> DiscordHook:
        route = Route("POST", "/channels/{channel_id}/webhooks", channel_id=channel_id)
        return await self._calls.read("making a webhook", route, _hook, json={"name": name})

    async def send(self, hook: DiscordHook, spot: WebhookSpot, post: DiscordPost) -> dict[str, Any]:
        """Post a message; returns it in Discord's form. A repeated call posts again: webhooks know no nonce."""
        sent: dict[str, Any] = {"json": post_data(post), "params": {"wait": "true"} | _in(spot), "file": post.file}
        route = _route("POST", _EXECUTE, hook)
        return await self._calls.read("posting under an agent's name", route, with_id, **sent)

    async def edit(
        self,
        hook: DiscordHook,
        spot: WebhookSpot,
        message: str,
        words: DiscordWords,
        choices: Sequence[Choice] | None = None,
    ) -> dict[str, Any]:
        """Replace the text, and the choices unless None; returns the message in Discord's form."""
        data, query = text_data(words), _in(spot)
        if choices is not None:
            data, query = data | {"components": choice_rows(choices)}, query | {"with_components": "true"}
        route = _route("PATCH", _MESSAGE, hook, message_id=message)
        return await self._calls.read("editing under an agent's name", route, dict, json=data, params=query)

    async def delete(self, hook: DiscordHook, spot: WebhookSpot, message: str) -> None:
        route = _route("DELETE", _MESSAGE, hook, message_id=message)
        await self._calls.ask("deleting what an agent said", route, params=_in(spot))


def _in(spot: WebhookSpot) -> dict[str, str]:
    return {"thread_id": spot.thread} if spot.thread else {}


def _route(method: str, path: str, hook: DiscordHook, **parameters: str) -> Route:
    return Route(method, path, webhook_id=hook.id, webhook_token=hook.token, **parameters)


def _made_by(hook: Mapping[str, Any], us: DiscordBot) -> bool:
    maker = hook.get("application_id")
    return us.application_id == maker if maker is not None else us.id == (hook.get("user") or {}).get("id")


def _hook(data: Mapping[str, Any]) -> DiscordHook:
    server = data.get("guild_id")
    return DiscordHook(
        str(data["id"]), str(data["token"]), str(data.get("name") or ""), str(server) if server else None
    )


class InteractionApi(Struct, frozen=True):
    """Calls with an interaction's own token: AlreadyDone after the first answer, NotDelivered when too late."""

    _calls: DiscordCalls

    async def say(self, interaction: Mapping[str, Any], words: DiscordWords, *, openly: bool = False) -> None:
        """Answer with a text, which only the person sees unless `openly`."""
        await self._respond(interaction, _SAY, text_data(words) | ({} if openly else {"flags": _EPHEMERAL}))

    async def promise(self, interaction: Mapping[str, Any]) -> None:
        """Announce a text, which must follow within a quarter of an hour."""
        await self._respond(interaction, _SAY_LATER, {"flags": _EPHEMERAL})

    async def keep_promise(self, interaction: Mapping[str, Any], words: DiscordWords) -> None:
        """Send the announced text, or put another one in the place of the first answer."""
        route = _answer_route("PATCH", _EXECUTE + "/messages/@original", interaction)
        await self._calls.ask("completing the answer to a command", route, json=text_data(words))

    async def add(self, interaction: Mapping[str, Any], words: DiscordWords) -> None:
        """Send a further text, which only the person sees."""
        data = text_data(words) | {"flags": _EPHEMERAL}
        route = _answer_route("POST", _EXECUTE, interaction)
        await self._calls.ask("going on with the answer to a command", route, json=data)

    async def accept(self, interaction: Mapping[str, Any]) -> None:
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


def _answer_route(method: str, path: str, interaction: Mapping[str, Any]) -> Route:
    return Route(method, path, webhook_id=str(interaction["application_id"]), webhook_token=interaction["token"])
