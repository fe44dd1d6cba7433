"""Rooms of the browser chat on Redis, and news among nodes. Implements `adapters.web.rooms.RoomStore` and
`adapters.web.echo.RoomNews`.

The content of messages may be sealed. Scripts read and change them, so what these need stays readable: ids, who wrote
it, whom it answers, times, marks.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from runtime.core.errors import ContentLocked
from runtime.core.message import Attachment, Choice
from runtime.core.quote import Quote
from runtime.core.room import MessageReaction, RoomChange, RoomInfo, RoomMessage, RoomPost
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import PLAIN, ContentSealing, key_of, message_binding
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.server import COMMAND_LIMIT_S
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS
from runtime.tape.facts.content import ATTACHMENT

_PUT = load_script("rooms/put")
_UPDATE = load_script("rooms/update")
_READ = load_script("rooms/read")
_AMEND = load_script("rooms/amend")

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)

_LOCKED_TEXT = "🔒"
"""The replacement for a text that cannot be decrypted."""

_CHANNEL = "{parley:rooms}:news"
_QUIET_S = 20.0
"""After so long without a word the server is asked whether it is still there."""


class RedisRoomStore:
    """Keeps the newest `bound` messages of each room. `platform` is the first part of the keys of its conversations."""

    def __init__(self, connection: RedisConnection, *, bound: int = 10_000, platform: str = "") -> None:
        self._connection = connection
        self._bound = bound
        self._form = RoomForm(connection.sealing, platform)

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        keys = _keys(room)
        kept = await self._connection.run(
            _PUT,
            [keys.room(room), keys.room_counters(room), keys.room_seqs(room), keys.room_versions(room), keys.rooms],
            [post.id, self._form.post(room, post), room, (post.sent_at - _EPOCH) // _MICROSECOND, self._bound],
        )
        return self._form.message(room, kept)

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        keys = _keys(room)
        kept = await self._connection.run(
            _UPDATE,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, *self._form.text(room, message_id, text), int(final)],
        )
        return None if kept is None else self._form.message(room, kept)

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        keys = _keys(room)
        who, reaction = change.reacted or ("", None)
        mark = "" if reaction is None else to_json([reaction.name, reaction.mark])
        kept = await self._connection.run(
            _AMEND,
            [keys.room(room), keys.room_counters(room), keys.room_versions(room)],
            [message_id, self._form.change(room, message_id, change), who, mark],
        )
        return None if kept is None else self._form.message(room, kept)

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        kept: str | None = await self._connection.ask("HGET", _keys(room).room(room), message_id)
        return None if kept is None else self._form.message(room, kept)

    async def history(self, room: str, /, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
        keys = _keys(room)
        before = "+inf" if before_seq is None else f"({before_seq}"
        found = await self._connection.run(
            _READ, [keys.room(room), keys.room_seqs(room)], ["(0", before, limit, "newest"], replicated=False
        )
        return [self._form.message(room, kept) for kept in reversed(found)]

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        keys = _keys(room)
        found = await self._connection.run(
            _READ,
            [keys.room(room), keys.room_versions(room)],
            [f"({after_version}", "+inf", limit, "oldest"],
            replicated=False,
        )
        return [self._form.message(room, kept) for kept in found]

    async def rooms(self) -> Sequence[RoomInfo]:
        keys = [ShardKeys(shard).rooms for shard in range(SHARDS)]
        shards = await self._connection.each(keys, lambda batch, key: batch.zrange(key, 0, -1, withscores=True))
        infos = [RoomInfo(room, _EPOCH + int(score) * _MICROSECOND) for shard in shards for room, score in shard]
        return sorted(infos, key=lambda info: (info.last_activity, info.id), reverse=True)


class RoomForm:
    """Writes and reads messages as `sealing` has it."""

    def __init__(self, sealing: ContentSealing, platform: str) -> None:
        """`platform` is the first part of the keys of the rooms' conversations."""
        self._sealing = sealing
        self._platform = platform

    def post(self, room: str, post: RoomPost) -> str:
        """A new message, JSON."""
        text, sealed_text = self.text(room, post.id, post.text)
        data = {
            "id": post.id,
            "author_id": post.author_id,
            "author_name": post.author_name,
            "author_kind": post.author_kind,
            "text": text,
            "sent_at": post.sent_at.isoformat(),
            "final": post.final,
            "thread": post.thread,
            "sealed_text": sealed_text or None,
            "quote": self._quote(room, post.id, post.quote),
            "files": self._part(room, post.id, "files", _files(post.files) or None),
            "to": post.to or None,
            "meeting": self._part(room, post.id, "meeting", [post.meeting] if post.meeting else None),
        }
        optional = ("sealed_text", "quote", "files", "to", "meeting")
        return to_json({name: value for name, value in data.items() if value is not None or name not in optional})

    def text(self, room: str, message: str, text: str) -> tuple[str, str]:
        """A text in plain and in sealed form, one of which is empty."""
        sealing = self._writing(room)
        return (text, "") if sealing is PLAIN else ("", sealing.seal(message_binding(room, message, "text"), text))

    def change(self, room: str, message: str, change: RoomChange) -> str:
        """The change to a message, as JSON."""
        data: dict[str, Any] = {"final": change.final, "edited": change.edited, "deleted": change.deleted}
        if change.text is not None:
            text, sealed_text = self.text(room, message, change.text)
            data |= {"text": text, "sealed_text": sealed_text or None}
        if change.files is not None:
            data["files"] = self._part(room, message, "files", _files(change.files))
        if change.choices is not None:
            choices = [[each.id, each.label] for each in change.choices]
            data["choices"] = self._part(room, message, "choices", choices)
        return to_json({name: value for name, value in data.items() if value is not None})

    def message(self, room: str, kept: str) -> RoomMessage:
        """A message from any version of Parley; Lua writes empty lists as objects."""
        data = json.loads(kept)
        quote, reactions = data.pop("quote", None), dict(data.pop("reactions", None) or {})
        sealed, id_ = data.pop("sealed_text", ""), data["id"]
        return RoomMessage(
            **{
                **data,
                "text": self._text(room, id_, sealed) if sealed else data["text"],
                "sent_at": datetime.fromisoformat(data["sent_at"]),
                "quote": Quote(quote[0], *self._read(room, id_, "quote", quote[1:], ("", _LOCKED_TEXT)))
                if quote
                else None,
                "files": tuple(map(ATTACHMENT.read, self._read(room, id_, "files", data.get("files"), ()))),
                "choices": tuple(Choice(*each) for each in self._read(room, id_, "choices", data.get("choices"), ())),
                "meeting": "".join(self._read(room, id_, "meeting", data.get("meeting"), ())),
                "reactions": {who: MessageReaction(*reaction) for who, reaction in reactions.items()},
            }
        )

    def key_of(self, kept: str) -> str:
        """The id of the key of a message's text; "" for an unsealed one."""
        return key_of(json.loads(kept).get("sealed_text") or "")

    def anew(self, room: str, kept: str) -> str:
        """A stored message in its current form. Raises ContentLocked where it cannot be opened."""
        data = json.loads(kept)
        id_ = data["id"]
        written = (data["text"], data.get("sealed_text") or "")
        text = self._open(room, id_, "text", written[1]) if written[1] else written[0]
        if text and self.text(room, id_, text) != written:
            data["text"], data["sealed_text"] = self.text(room, id_, text)
        if data.get("quote"):
            author_and_text = self._open_part(room, id_, "quote", [*data["quote"][1:]])
            data["quote"] = self._quote(room, id_, Quote(data["quote"][0], *author_and_text))
        for part in ("files", "choices", "meeting"):
            if data.get(part):
                data[part] = self._part(room, id_, part, self._open_part(room, id_, part, data[part]))
        return kept if json.loads(kept) == data else to_json(data)

    def _writing(self, room: str) -> ContentSealing:
        return self._sealing.of(f"{self._platform}:{room}")

    def _part(self, room: str, message: str, part: str, value: Any) -> Any:
        sealing = self._writing(room)
        if not value or sealing is PLAIN:
            return value
        return sealing.seal(message_binding(room, message, part), to_json(value))

    def _quote(self, room: str, message: str, quote: Quote | None) -> list[str] | None:
        if quote is None:
            return None
        sealing = self._writing(room)
        if sealing is PLAIN:
            return [quote.message_id, quote.author, quote.text]
        return [quote.message_id, self._part(room, message, "quote", [quote.author, quote.text])]

    def _read(self, room: str, message: str, part: str, kept: Any, otherwise: Any) -> Any:
        try:
            return self._open_part(room, message, part, kept or ())
        except ContentLocked:
            return otherwise

    def _open_part(self, room: str, message: str, part: str, kept: Any) -> Any:
        """The unsealed part. Raises ContentLocked."""
        sealed = kept[0] if part == "quote" and len(kept) == 1 else kept
        return json.loads(self._open(room, message, part, sealed)) if isinstance(sealed, str) else kept

    def _open(self, room: str, message: str, part: str, written: str) -> str:
        return self._sealing.open(message_binding(room, message, part), written)

    def _text(self, room: str, message: str, sealed: str) -> str:
        try:
            return self._open(room, message, "text", sealed)
        except ContentLocked:
            return _LOCKED_TEXT


class RedisRoomNews:
    """A node listens to its own channel and to that of all."""

    def __init__(self, connection: RedisConnection, node: str, channel: str = _CHANNEL) -> None:
        self.node = node
        self._channel = channel
        self._connection = connection

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        await self._connection.ask("PUBLISH", self._channel if to is None else f"{self._channel}:{to}", text)

    async def listen(
        self, on_open: Callable[[], Awaitable[None]], on_news: Callable[[str], Awaitable[None]], /
    ) -> None:
        while True:
            heard = await self._connection.subscribed(self._channel, f"{self._channel}:{self.node}")
            try:
                await on_open()
                while True:
                    await on_news(await _next(heard))
            except (RedisError, TimeoutError, OSError):
                continue
            finally:
                with anyio.CancelScope(shield=True):
                    await heard.aclose()  # type: ignore[no-untyped-call]


def _keys(room: str) -> ShardKeys:
    return ShardKeys(shard_of(room))


def _files(files: tuple[Attachment, ...]) -> list[list[Any]]:
    return [ATTACHMENT.write(file) for file in files]


async def _next(heard: PubSub) -> str:
    """The next text. Raises TimeoutError when the server does not say that it is there."""
    asked = False
    while True:
        message = await heard.get_message(timeout=COMMAND_LIMIT_S if asked else _QUIET_S)
        if message is None:
            if asked:
                raise TimeoutError("the server does not answer")
            await heard.ping()
            asked = True
        elif message["type"] == "message":
            return str(message["data"])
        else:
            asked = False
