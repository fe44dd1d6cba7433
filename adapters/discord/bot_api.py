"""The calls that are needed, over discord.py: each failure in our words. Never waits or repeats.

What its failures mean: discord.py 2.7, `discord.errors`; codes: Discord's documentation, JSON Error Codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import discord
from discord.http import Route, handle_message_parameters

from adapters.discord.codec import COMMAND_TEXT, BotIdentity
from adapters.discord.rest import OLD_EDITS, Rest
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered, OutcomeUncertain, RateLimited

PAGE: Final = 100
"""Most messages of one answer (Get Channel Messages)."""
UNREACHABLE_PAUSE_S: Final = 1.0
"""After how long a call is worth repeating that could not even be sent."""

_SUPPRESS_EMBEDS: Final = 1 << 2
_EPHEMERAL: Final = 1 << 6
_READS_MESSAGES: Final = (1 << 18) | (1 << 19)
"""Application flags: the message content intent is switched on, for a verified bot or for one in few servers."""
_SAY: Final = 4
_DEFER: Final = 5
_TEXT_OPTION: Final = 3

_GONE: Final = frozenset({10008, OLD_EDITS, 50083})
"""Unknown message; too many edits of an old one; thread archived, where a new message would open it again."""
_UNKNOWN_WEBHOOK: Final = 10015
_WHY: Final[Mapping[int, str]] = {
    10003: "The channel or thread is gone",
    20028: "The channel is in slow mode",
    50001: "The bot cannot see this channel: give it View Channel there",
    50007: "This person takes no direct messages from the bot",
    50013: "The bot lacks a permission in this channel; docs/discord.md lists them",
    160005: "The thread is locked",
    200000: "The server's moderation blocked the text",
}
_UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)
"""What is raised where an answer is not what is expected."""


class HookGone(NotDelivered):
    """The webhook was deleted: make another."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook of ours; `token` is as secret as the bot's."""

    id: str
    token: str


class BotApi:
    """One bot's calls. Errors: AuthFailed only from `identity`."""

    def __init__(self, token: str, *, base_url: str | None, clock: Clock, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._rest = Rest(base_url=base_url, clock=clock, call_timeout_s=call_timeout_s)
        self._rest.token = token

    async def close(self) -> None:
        await self._rest.close()

    async def identity(self) -> tuple[BotIdentity, bool]:
        """Who we are, and whether the message content intent is switched on."""
        with self._call("who the bot is", at_setup=True):
            user: Any = await self._rest.request(Route("GET", "/users/@me"))
            application: Any = await self._rest.application_info()
            reads = bool(int(application.get("flags", 0)) & _READS_MESSAGES)
            return BotIdentity(str(user["id"]), str(application["id"]), str(user["username"])), reads

    async def offer_commands(self, application_id: str, commands: Mapping[str, str]) -> None:
        """Replace the bot's commands in all servers and private conversations."""
        option = {"type": _TEXT_OPTION, "name": COMMAND_TEXT, "description": "What to say with it", "required": False}
        payload = [{"name": name, "description": text, "options": [option]} for name, text in commands.items()]
        with self._call("offering commands"):
            await self._rest.bulk_upsert_global_commands(application_id, payload)

    async def send(self, channel_id: str, text: str, nonce: str) -> str:
        params = handle_message_parameters(
            text,
            nonce=nonce,
            flags=discord.MessageFlags(suppress_embeds=True),
            allowed_mentions=discord.AllowedMentions.none(),
        )
        with self._call("posting"):
            message = await self._rest.send_message(channel_id, params=params)
            return str(message["id"])

    async def edit(self, channel_id: str, message: str, text: str) -> None:
        params = handle_message_parameters(text, allowed_mentions=discord.AllowedMentions.none())
        with self._call("editing"):
            await self._rest.edit_message(channel_id, message, params=params)

    async def typing(self, channel_id: str) -> None:
        with self._call("showing that somebody types"):
            await self._rest.send_typing(channel_id)

    async def after(self, channel_id: str, message: str) -> list[dict[str, Any]]:
        """Up to PAGE messages that follow a message, oldest first."""
        with self._call("reading what was written"):
            found: list[Any] = list(await self._rest.logs_from(channel_id, PAGE, after=message))
            return sorted(found, key=lambda each: int(each["id"]))

    async def channel(self, channel_id: str) -> dict[str, Any]:
        with self._call("reading a channel"):
            return dict(await self._rest.get_channel(channel_id))

    async def join(self, thread_id: str) -> None:
        """Be in a thread, so that Discord tells us from now on that it is one of ours."""
        with self._call("joining a thread"):
            await self._rest.join_thread(thread_id)

    async def hooks(self, channel_id: str, application_id: str) -> list[Hook]:
        """Our webhooks in a channel."""
        with self._call("reading webhooks"):
            found: list[Any] = list(await self._rest.channel_webhooks(channel_id))
            ours = (hook for hook in found if hook.get("application_id") == application_id and hook.get("token"))
            return [Hook(str(hook["id"]), str(hook["token"])) for hook in ours]

    async def make_hook(self, channel_id: str, name: str) -> Hook:
        with self._call("making a webhook"):
            made: Any = await self._rest.create_webhook(channel_id, name=name)
            return Hook(str(made["id"]), str(made["token"]))

    async def hook_send(self, hook: Hook, thread_id: str | None, name: str, text: str) -> str:
        """Also raises HookGone. A repeated call posts again: webhooks know no nonce."""
        query = {"wait": "true"} | ({"thread_id": thread_id} if thread_id else {})
        payload = _quiet(text) | {"username": name, "flags": _SUPPRESS_EMBEDS}
        with self._call("posting under an agent's name"):
            message = await self._rest.request(_hook_route("POST", hook), json=payload, params=query)
            return str(message["id"])

    async def hook_edit(self, hook: Hook, thread_id: str | None, message: str, text: str) -> None:
        """Also raises HookGone."""
        query = {"thread_id": thread_id} if thread_id else {}
        route = _hook_route("PATCH", hook, "/messages/{message_id}", message_id=message)
        with self._call("editing under an agent's name"):
            await self._rest.request(route, json=_quiet(text), params=query)

    async def respond(self, interaction: Mapping[str, Any], text: str | None) -> None:
        """Acknowledge a command with a text that only its person sees; None says that one will follow."""
        data = {"flags": _EPHEMERAL} | ({"content": text} if text else {})
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        route = Route("POST", path, webhook_id=interaction["id"], webhook_token=interaction["token"])
        with self._call("acknowledging a command"):
            await self._rest.request(route, json={"type": _SAY if text else _DEFER, "data": data})

    async def complete(self, interaction: Mapping[str, Any], text: str) -> None:
        """The text that was to follow."""
        hook = Hook(str(interaction["application_id"]), interaction["token"])
        with self._call("acknowledging a command"):
            await self._rest.request(_hook_route("PATCH", hook, "/messages/@original"), json=_quiet(text))

    @contextmanager
    def _call(self, what: str, *, at_setup: bool = False) -> Iterator[None]:
        """One call: its failure as one of our errors. Its time limit is the connection's."""
        try:
            yield
        except discord.RateLimited as error:
            raise RateLimited(f"Discord: {what}: too many calls", retry_after_s=error.retry_after) from error
        except discord.HTTPException as error:
            raise _translated(error, what, at_setup=at_setup) from error
        except aiohttp.ClientConnectorError as error:
            text = f"Discord could not be reached for {what}: {error}"
            raise RateLimited(text, retry_after_s=UNREACHABLE_PAUSE_S) from error
        except TimeoutError as error:
            raise OutcomeUncertain(f"Discord: {what}: no answer within {self._call_timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError, *_UNREADABLE) as error:
            raise OutcomeUncertain(f"Discord: {what}: no answer that can be read: {error!r}") from error


def _quiet(text: str) -> dict[str, Any]:
    return {"content": text, "allowed_mentions": {"parse": []}}


def _hook_route(method: str, hook: Hook, path: str = "", **parameters: str) -> Route:
    whole = "/webhooks/{webhook_id}/{webhook_token}" + path
    return Route(method, whole, webhook_id=hook.id, webhook_token=hook.token, **parameters)


def _translated(error: discord.HTTPException, what: str, *, at_setup: bool) -> AdapterError:
    text = f"Discord: {what}: {error.status} {error.text or error.response.reason} (code {error.code})"
    if error.code in _WHY:
        text = f"{text}. {_WHY[error.code]}"
    if error.status == 401 and at_setup:
        return AuthFailed(
            f"{text}. Discord refuses the bot's token; take a new one from the Developer Portal: Bot, Reset Token"
        )
    if error.status >= 500:
        return OutcomeUncertain(text)
    if error.code in _GONE:
        return MessageGone(text)
    return HookGone(text) if error.code == _UNKNOWN_WEBHOOK else NotDelivered(text)
