"""API calls of webhooks. A webhook's address is its secret, and the bot's token is not sent with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from discord.http import Route

from adapters.discord.api.calls import DiscordCalls
from adapters.discord.codec.addresses import DiscordBot
from adapters.discord.codec.payload import DiscordWords, Post, choice_rows, post_data, text_data
from runtime.core.message import Choice

_EXECUTE: Final = "/webhooks/{webhook_id}/{webhook_token}"
_MESSAGE: Final = _EXECUTE + "/messages/{message_id}"


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook of ours; `token` is as secret as the bot's."""

    id: str
    token: str
    name: str = ""
    server: str | None = None


@dataclass(frozen=True, slots=True)
class WebhookSpot:
    """The place where a webhook speaks: a channel, or a thread of it."""

    channel: str
    thread: str | None

    @property
    def place(self) -> str:
        """The id of the messages' place: a thread is a channel to Discord."""
        return self.thread or self.channel


class HookApi:
    """Calls about and through webhooks, one attempt each. Those that take a Hook also raise HookGone."""

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls

    async def of_channel(self, channel_id: str, us: DiscordBot) -> list[Hook]:
        """Our webhooks in a channel: those of our application, also where Discord tells only who made them."""
        route = Route("GET", "/channels/{channel_id}/webhooks", channel_id=channel_id)
        with self._calls.told("reading webhooks"):
            found: list[Any] = list(await self._calls.rest.request(route))
            return [_hook(hook) for hook in found if hook.get("token") and _made_by(hook, us)]

    async def make(self, channel_id: str, name: str) -> Hook:
        route = Route("POST", "/channels/{channel_id}/webhooks", channel_id=channel_id)
        with self._calls.told("making a webhook"):
            return _hook(await self._calls.rest.request(route, json={"name": name}))

    async def send(self, hook: Hook, spot: WebhookSpot, post: Post) -> dict[str, Any]:
        """Post a message; returns it in Discord's form. A repeated call posts again: webhooks know no nonce."""
        with self._calls.told("posting under an agent's name"):
            message: Any = await self._calls.rest.request(
                _route("POST", _EXECUTE, hook),
                json=post_data(post),
                params={"wait": "true"} | _in(spot),
                file=post.file,
            )
            return {**message, "id": str(message["id"])}

    async def edit(
        self, hook: Hook, spot: WebhookSpot, message: str, words: DiscordWords, choices: Sequence[Choice] | None = None
    ) -> dict[str, Any]:
        """Replace the text, and the choices unless None; returns the message in Discord's form."""
        data, query = text_data(words), _in(spot)
        if choices is not None:
            data, query = data | {"components": choice_rows(choices)}, query | {"with_components": "true"}
        with self._calls.told("editing under an agent's name"):
            return dict(
                await self._calls.rest.request(
                    _route("PATCH", _MESSAGE, hook, message_id=message), json=data, params=query
                )
            )

    async def delete(self, hook: Hook, spot: WebhookSpot, message: str) -> None:
        route = _route("DELETE", _MESSAGE, hook, message_id=message)
        await self._calls.ask("deleting what an agent said", route, params=_in(spot))


def _in(spot: WebhookSpot) -> dict[str, str]:
    return {"thread_id": spot.thread} if spot.thread else {}


def _route(method: str, path: str, hook: Hook, **parameters: str) -> Route:
    return Route(method, path, webhook_id=hook.id, webhook_token=hook.token, **parameters)


def _made_by(hook: Mapping[str, Any], us: DiscordBot) -> bool:
    maker = hook.get("application_id")
    return us.application_id == maker if maker is not None else us.id == (hook.get("user") or {}).get("id")


def _hook(data: Mapping[str, Any]) -> Hook:
    server = data.get("guild_id")
    return Hook(str(data["id"]), str(data["token"]), str(data.get("name") or ""), str(server) if server else None)
