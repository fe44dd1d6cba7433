"""API calls of the bot itself: messages, reactions, threads, and questions about the bot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from discord.http import Route
from msgspec import Struct

from adapters.discord.api.calls import DiscordCalls
from adapters.discord.codec.addresses import DiscordBot, is_snowflake
from adapters.discord.codec.payload import DiscordPost, DiscordWords, choice_rows, post_data, text_data
from adapters.discord.limits import MAX_THREAD_NAME
from runtime.core.message import Choice

_ADMINISTRATOR = 1 << 3

THREAD_BITS = (1 << 35) | (1 << 38)
"""The permission to open a thread and speak in it."""


class Permission(Struct, frozen=True):
    """One permission: its name in Discord, its purpose, and whether nothing works without it."""

    name: str
    bit: int
    purpose: str
    essential: bool = False


class BotInvitation(Struct, frozen=True):
    """A link that lets the bot into a server, and the permissions it asks for."""

    link: str
    permissions: Sequence[Permission]


PERMISSIONS: Sequence[Permission] = (
    Permission("View Channels", 1 << 10, "to see the channel at all", essential=True),
    Permission("Send Messages", 1 << 11, "to answer in channels", essential=True),
    Permission("Send Messages in Threads", 1 << 38, "to answer in threads and forum posts", essential=True),
    Permission("Create Public Threads", 1 << 35, "to open a thread for a session"),
    Permission("Read Message History", 1 << 16, "to read what was written meanwhile, and to answer by a reply"),
    Permission("Manage Webhooks", 1 << 29, "to let each agent speak under its own name and picture"),
    Permission("Add Reactions", 1 << 6, "to mark a message that waits for its answer"),
    Permission("Attach Files", 1 << 15, "to send files"),
)


def invitation(application_id: str) -> BotInvitation:
    """The link by which a server's manager adds the bot, with its permissions and commands."""
    permissions = sum(permission.bit for permission in PERMISSIONS)
    scopes = "bot+applications.commands"
    link = f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={permissions}"
    return BotInvitation(link, PERMISSIONS)


def missing(granted: int) -> list[Permission]:
    if granted & _ADMINISTRATOR:
        return []
    return [permission for permission in PERMISSIONS if not granted & permission.bit]


PAGE: Final = 100
"""The largest number of messages in one answer (Get Channel Messages)."""
_GUILDS: Final = 200
"""The largest number of servers in one answer (Get Current User Guilds)."""
_READS_MESSAGES: Final = (1 << 18) | (1 << 19)
"""Application flags: the message content intent is switched on, for a verified bot or for one in few servers."""
_PUBLIC_THREAD: Final = 11
_ARCHIVE_AFTER_MIN: Final = 1440
_MESSAGE: Final = "/channels/{channel_id}/messages/{message_id}"
_MARK: Final = _MESSAGE + "/reactions/{emoji}/@me"


class DiscordApi(Struct, frozen=True):
    """One bot's calls, one attempt each. Errors: those of the port and of `calls`; AuthFailed only from `identity`."""

    _calls: DiscordCalls

    async def identity(self) -> tuple[DiscordBot, bool]:
        """The bot's identity, and whether the message content intent is switched on."""
        with self._calls.told("who the bot is", at_setup=True):
            user: Any = await self._calls.rest.request(Route("GET", "/users/@me"))
            application: Any = await self._calls.rest.request(Route("GET", "/oauth2/applications/@me"))
            reads = bool(int(application.get("flags", 0)) & _READS_MESSAGES)
            return DiscordBot(str(user["id"]), str(application["id"]), str(user["username"])), reads

    async def servers(self) -> list[tuple[str, int]]:
        """The bot's servers by name, with the permissions of its roles there, as bits."""
        with self._calls.told("in which servers the bot is", at_setup=True):
            found: Any = await self._calls.rest.request(
                Route("GET", "/users/@me/guilds"), params={"limit": str(_GUILDS)}
            )
            return [(str(each["name"]), int(each.get("permissions", 0))) for each in found]

    async def sharding(self) -> tuple[int, int]:
        """The number of connections that Discord recommends, and how many may start at once every five seconds."""
        with self._calls.told("how many connections are wanted", at_setup=True):
            found: Any = await self._calls.rest.request(Route("GET", "/gateway/bot"))
            return int(found["shards"]), int(found["session_start_limit"]["max_concurrency"])

    async def offer_commands(self, application_id: str, commands: Sequence[Mapping[str, Any]]) -> None:
        """Replace the bot's commands in all servers and private conversations."""
        route = Route("PUT", "/applications/{application_id}/commands", application_id=application_id)
        await self._calls.ask("offering commands", route, json=list(commands))

    async def send(self, channel_id: str, post: DiscordPost) -> dict[str, Any]:
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel_id)
        what = "posting" if post.file is None else "sending a file"
        return await self._calls.read(what, route, with_id, json=post_data(post), file=post.file)

    async def private_channel(self, person: str) -> str:
        route = Route("POST", "/users/@me/channels")
        return await self._calls.read("opening a private conversation", route, _id, json={"recipient_id": person})

    async def edit(
        self, channel_id: str, message: str, words: DiscordWords, choices: Sequence[Choice] | None = None
    ) -> dict[str, Any]:
        """Replace the text, and the choices unless None; returns the message in Discord's form."""
        data = text_data(words) | ({} if choices is None else {"components": choice_rows(choices)})
        route = Route("PATCH", _MESSAGE, channel_id=channel_id, message_id=message)
        return await self._calls.read("editing", route, dict, json=data)

    async def delete(self, channel_id: str, message: str) -> None:
        await self._calls.ask("deleting", Route("DELETE", _MESSAGE, channel_id=channel_id, message_id=message))

    async def react(self, channel_id: str, message: str, emoji: str, *, there: bool) -> None:
        method = "PUT" if there else "DELETE"
        route = Route(method, _MARK, channel_id=channel_id, message_id=message, emoji=emoji)
        await self._calls.ask("marking a message", route)

    async def typing(self, channel_id: str) -> None:
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_id)
        await self._calls.ask("showing that somebody types", route)

    async def after(self, channel_id: str, message: str) -> list[dict[str, Any]]:
        """Up to PAGE messages that follow a message, oldest first; without those that are not understood."""
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=channel_id)
        asked = {"limit": str(PAGE), "after": message}
        return await self._calls.read("reading what was written", route, _in_order, params=asked)

    async def before(self, channel_id: str, message: str, at_most: int) -> list[dict[str, Any]]:
        """The latest messages before a message, oldest first; without those that are not understood."""
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=channel_id)
        asked = {"limit": str(at_most), "before": message}
        return await self._calls.read("reading what was said before", route, _in_order, params=asked)

    async def message(self, channel_id: str, message: str) -> dict[str, Any]:
        route = Route("GET", _MESSAGE, channel_id=channel_id, message_id=message)
        return await self._calls.read("reading a message", route, dict)

    async def channel(self, channel_id: str) -> dict[str, Any]:
        route = Route("GET", "/channels/{channel_id}", channel_id=channel_id)
        return await self._calls.read("reading a channel", route, dict)

    async def open_thread(self, channel_id: str, name: str, *, message: str | None = None) -> str:
        """Open a public thread, from a message if one is given; its id. Raises AlreadyDone where there is one."""
        base = "/channels/{channel_id}"
        path = base + ("/threads" if message is None else "/messages/{message_id}/threads")
        route = Route("POST", path, channel_id=channel_id, **({} if message is None else {"message_id": message}))
        data: dict[str, Any] = {"name": name[:MAX_THREAD_NAME], "auto_archive_duration": _ARCHIVE_AFTER_MIN}
        if message is None:
            data["type"] = _PUBLIC_THREAD
        return await self._calls.read("opening a thread", route, _id, json=data)

    async def open_post(self, forum_id: str, name: str, post: DiscordPost) -> str:
        """Open a post of a forum, which begins with a message; its id."""
        route = Route("POST", "/channels/{channel_id}/threads", channel_id=forum_id)
        data = {"name": name[:MAX_THREAD_NAME], "auto_archive_duration": _ARCHIVE_AFTER_MIN, "message": post_data(post)}
        return await self._calls.read("opening a post", route, _id, json=data)

    async def join(self, thread_id: str, person: str = "@me") -> None:
        """Have somebody in a thread; us, so that Discord tells us from now on that it is one of ours."""
        path = "/channels/{channel_id}/thread-members/" + person
        await self._calls.ask("joining a thread", Route("PUT", path, channel_id=thread_id))


def with_id(message: Any) -> dict[str, Any]:
    """A message in Discord's form. Raises LookupError or TypeError for what is none."""
    return {**message, "id": str(message["id"])}


def _id(opened: Any) -> str:
    return str(opened["id"])


def _in_order(messages: Any) -> list[dict[str, Any]]:
    """Those of the messages that are understood, oldest first."""
    understood = (one for one in messages if isinstance(one, dict) and is_snowflake(one.get("id")))
    return sorted(understood, key=lambda each: int(each["id"]))
