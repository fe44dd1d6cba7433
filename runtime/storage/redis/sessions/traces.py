"""Data about people and sessions beside the tapes, on Redis, found by one pass over all keys; and in rooms of ours:
messages, names, and notices and titles in which these stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import ContentLocked, StorageUnavailable
from runtime.core.markup import as_read
from runtime.core.quote import without_author
from runtime.core.room import RoomMessage
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.encoding.codec import UNREADABLE_AT
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import SHARD_KEY, ShardKeys, conversation_of_said
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import EventForm
from runtime.storage.redis.mailboxes import seat_of_letter
from runtime.storage.redis.memories import RedisMemories
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.sessions.kept import RedisKeptWords
from runtime.storage.redis.sessions.known_sessions import keys_like
from runtime.stores import inbox
from runtime.stores.catalog import PersonKeys
from runtime.stores.memories import MemoryScope

_EVENTS_ANEW = load_script("rekeying/rewrite_events")

_MAILBOX_KEY = re.compile(r"\{parley:participant:[^}]+\}:(mail|seat):?(.*)", re.DOTALL)
_TABLE_KEY = re.compile(r"\{parley:([^}]+)\}\Z")
_NO_TABLES = ("file:", "files", "shares", "count:", "bot:")
_ENTRIES_AT_ONCE = 500

_OF_TASKS = frozenset(
    {inbox.TASK, inbox.TASK_OVER, inbox.TASK_ASKS, inbox.TASK_AGAIN, inbox.TASK_WORD, inbox.TASK_HEARD}
)
"""Kinds of events whose texts name who ordered a task."""

_REWRITING = "already in progress"
_REWRITE_LIMIT_S = 120.0
_REWRITE_PAUSE_S = 0.05

_FORGET = load_script("rooms/forget")
_AT_ONCE = 500

CHARTERS = "web:charters"
OF_SEVERAL = frozenset({CHARTERS, "web:files", "web:hues"})
"""Tables whose records, JSON, name several people. Of such a record the rest stays when one of them is forgotten."""

_DIRECTORY = "web:directory"
_SOMEBODY = "somebody"


class RedisTraces:
    """Implements `runtime.stores.catalog.PersonTraces`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._clock = SystemClock()
        self._form = EventForm(connection.sealing)
        self._memories = RedisMemories(connection)
        self._words = RedisKeptWords(connection)
        self._rooms = RoomTraces(connection)

    async def messages(self, room: str, ids: Collection[str], /) -> None:
        await self._rooms.forget_messages(room, "", ids)

    async def said(self, conversation: Address, /) -> None:
        await self._words.forget(conversation.key)

    async def files(self, ids: Collection[str], /) -> None:
        for id_ in ids:
            await RedisFileStore(self._connection).remove(id_)

    async def person(self, whose: PersonKeys, /) -> int:
        known = await self._names_in_events(whose.person) | await self._rooms.names(whose.person)
        whose = replace(whose, names=whose.names | known)
        names = _Names(whose)
        forgotten = await self._rooms.person(whose.person, whose.names)
        async for keys in keys_like(self._connection, "{parley:*"):
            for key in keys:
                forgotten += await self._forget(key, whose, names)
        return forgotten

    async def rewrite(self) -> bool:
        until = self._clock.monotonic() + _REWRITE_LIMIT_S
        primaries = range(await self._connection.primaries())
        try:
            # One under way may have read what was deleted since. The end of a rewrite is told to nobody, so it is asked
            # for; only then the old file is gone.
            for done in (_begin_rewrite, _rewrite_is_over):
                for number in primaries:
                    while not await self._connection.at_primary(number, done):
                        if self._clock.monotonic() > until:
                            return False
                        await self._clock.sleep_until(self._clock.monotonic() + _REWRITE_PAUSE_S)
            return all([await self._connection.at_primary(number, _rewrite_went_well) for number in primaries])
        except StorageUnavailable:
            return False

    async def _names_in_events(self, person: str) -> set[str]:
        """The names under which a person did something in events that wait or could not be processed."""
        names: set[str] = set()
        async for keys in keys_like(self._connection, "{parley:*"):
            for key in keys:
                in_shard = SHARD_KEY.match(key)
                if in_shard is not None and in_shard[2] in ("inbox", "dead", "schedules"):
                    scheduled = in_shard[2] == "schedules"
                    async for _, event in self._scheduled(key) if scheduled else self._events(key):
                        if event.kind == inbox.LOCKED and event.person_id != person:
                            raise ContentLocked(event.text)  # it may quote the person
                        names |= {event.person_name} if event.person_id == person else set()
        return names

    async def _forget(self, key: str, whose: PersonKeys, names: _Names) -> int:
        """Delete one key's data; returns the number of entries."""
        in_shard, table = SHARD_KEY.match(key), _TABLE_KEY.match(key)
        if in_shard is not None:
            kind, rest = in_shard[2], in_shard[3]
            if kind in ("inbox", "dead"):
                return await self._forget_events(key, whose)
            if kind == "schedules":
                return await self._forget_schedules(key, rest, whose)
            if kind == "memories":
                return await self._memories.forget_person(MemoryScope.of_key(rest), whose)
            if kind == "said-message":
                return await self._words.forget_person(conversation_of_said(rest), key, whose)
            if kind == "seen" and names.conversation.search(rest):
                return await self._remove(key)
        elif key.startswith(("{parley:count:", "{parley:runs:")) and names.anything.search(key):
            return await self._remove(key)
        elif (mailbox := _MAILBOX_KEY.match(key)) is not None:
            return await self._forget_mail(key, mailbox[1], mailbox[2], whose)
        elif table is not None and not table[1].startswith(_NO_TABLES) and table[1] not in OF_SEVERAL:
            return await self._forget_records(key, table[1], names)
        return 0

    async def _forget_mail(self, key: str, kind: str, seat_id: str, whose: PersonKeys) -> int:
        """Delete the mail of deleted sessions for participants in other processes, and their seats there."""
        if kind == "seat":
            return await self._remove(key) if seat_id.partition("/")[0] in whose.sessions else 0
        mail = await self._connection.read("xrange", key)
        theirs = [entry_id for entry_id, fields in mail if seat_of_letter(fields["l"]).session in whose.sessions]
        return int(await self._connection.write("XDEL", key, *theirs)) if theirs else 0

    async def _remove(self, key: str) -> int:
        return int(await self._connection.write("UNLINK", key))

    async def _forget_events(self, key: str, whose: PersonKeys) -> int:
        theirs: list[str] = []
        unquoted: list[str] = []
        async for entry_id, event in self._events(key):
            if _concerns(event, whose):
                theirs.append(entry_id)
            elif (without := _unquoted(event, whose)) != event:
                unquoted += [entry_id, "e", self._form.write(without)]
        forgotten = 0
        for first in range(0, len(theirs), _ENTRIES_AT_ONCE):
            forgotten += int(await self._connection.write("XDEL", key, *theirs[first : first + _ENTRIES_AT_ONCE]))
        if unquoted:
            forgotten += int(await self._connection.run(_EVENTS_ANEW, [key], unquoted))
        return forgotten

    async def _forget_schedules(self, key: str, conversation: str, whose: PersonKeys) -> int:
        """Delete the schedules that the person made, and all of a conversation that was theirs alone."""
        if conversation in whose.conversations:
            return await self._remove(key)
        theirs = [number async for number, event in self._scheduled(key) if event.person_id == whose.person]
        return int(await self._connection.write("HDEL", key, *theirs)) if theirs else 0

    async def _scheduled(self, key: str) -> AsyncIterator[tuple[str, inbox.InboxEvent]]:
        """The events as which schedules are kept, with their numbers."""
        for name, written in (await self._connection.read("hgetall", key)).items():
            if name.isdecimal():
                yield name, self._form.read(name, {"e": written})

    async def _events(self, key: str) -> AsyncIterator[tuple[str, inbox.InboxEvent]]:
        """All events of a stream, with the ids of their entries."""
        after = "-"
        while True:
            entries: Sequence[tuple[str, Mapping[str, str]]] = await self._connection.read(
                "xrange", key, min=after, count=_ENTRIES_AT_ONCE
            )
            for entry_id, fields in entries:
                yield entry_id, self._form.read(entry_id, fields)
            if len(entries) < _ENTRIES_AT_ONCE:
                return
            after = f"({entries[-1][0]}"

    async def _forget_records(self, key: str, table: str, names: _Names) -> int:
        async def read(client: Redis) -> dict[str, str]:
            if await client.type(key) != "hash":
                return {}
            return {name: value async for name, value in client.hscan_iter(key, count=_ENTRIES_AT_ONCE)}

        records = await self._connection.retrying(read, key)
        theirs = [name for name, value in records.items() if names.in_record(table, name, value)]
        if not theirs:
            return 0
        return int(await self._connection.write("HDEL", key, *theirs))


class _Names:
    """The names of a person and their conversations, in keys and records."""

    def __init__(self, whose: PersonKeys) -> None:
        everything = {whose.person, *whose.conversations}
        self._platform = whose.person.partition(":")[0]
        self.anything = whole_words(everything)
        self.conversation = whole_words(whose.conversations | {whose.person})
        self._session = whole_words(whose.sessions)
        self._bare = whole_words({name.partition(":")[2].partition("#")[0] for name in everything})

    def in_record(self, table: str, name: str, value: str) -> bool:
        """Whether an entry is about them. An adapter's own tables name people and chats without the platform."""
        if self.anything.search(name) or self.anything.search(value) or self._session.match(name):
            return True
        return self._platform in table.split(":") and bool(self._bare.search(name))


class RoomTraces:
    """Raises StorageUnavailable."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._rooms = RedisRoomStore(connection)

    async def names(self, person: str) -> set[str]:
        """The names under which a person is known in rooms, and was when they wrote there."""
        found = {await RedisRecords(self._connection, _DIRECTORY).get(person) or ""}
        for kept in (await RedisRecords(self._connection, CHARTERS).all()).values():
            found.add(json.loads(kept).get("people", {}).get(person, ""))
        for room in await self._rooms.rooms():
            found |= {each.author_name for each in await self._messages(room.id) if each.author_id == person}
        return found - {""}

    async def person(self, person: str, names: Collection[str]) -> int:
        """Take a person out of all rooms: messages, reactions, notices that name them, people and titles of rooms. The
        directory keeps their name until the end, so that it is known where this is called again.
        """
        forgotten = 0
        for room in await self._rooms.rooms():
            forgotten += await self._forget(room.id, person, names)
        for table in sorted(OF_SEVERAL):
            forgotten += await self._forget_in_records(table, person, names)
        return forgotten

    async def _forget(self, room: str, person: str, names: Collection[str]) -> int:
        named = whole_words(names)
        notices = [
            each.id
            for each in await self._messages(room)
            if each.author_kind == "notice" and (named.search(as_read(each.text)) or named.search(each.text))
        ]
        return await self.forget_messages(room, person, notices)

    async def forget_messages(self, room: str, person: str, ids: Collection[str]) -> int:
        """Take messages out of a room, and what points at them. `person`, unless it is "": also theirs."""
        keys = ShardKeys(inbox.shard_of(room))
        return int(
            await self._connection.run(
                _FORGET,
                [keys.room(room), keys.room_counters(room), keys.room_seqs(room), keys.room_versions(room), keys.rooms],
                [room, person, *ids],
            )
        )

    async def _forget_in_records(self, table: str, person: str, names: Collection[str]) -> int:
        """Take a person out of records that name several, whoever changes them meanwhile."""
        records, named, changed = RedisRecords(self._connection, table), whole_words(names), 0
        for name in await records.all():
            while (kept := await records.get(name)) is not None:
                left = _without(person, json.loads(kept))
                if table == CHARTERS:
                    left["title"] = named.sub(_SOMEBODY, left.get("title", ""))
                if left == json.loads(kept):
                    break
                if await records.change({name: (kept, json.dumps(left, ensure_ascii=False))}):
                    changed += 1
                    break
        return changed

    async def _messages(self, room: str) -> list[RoomMessage]:
        found: list[RoomMessage] = []
        before: int | None = None
        while page := await self._rooms.history(room, before_seq=before, limit=_AT_ONCE):
            found += page
            before = page[0].seq
        return found


def whole_words(names: Collection[str]) -> re.Pattern[str]:
    """A pattern for any of the names, except inside longer ones; of no name for nothing."""
    either = "|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name))))
    return re.compile(rf"(?<![\w-])(?:{either})(?![\w-])" if either else r"(?!)")


def _unquoted(event: inbox.InboxEvent, whose: PersonKeys) -> inbox.InboxEvent:
    """An event of somebody else without what the person said in what it brings."""
    quote = without_author([event.quote] if event.quote is not None else [], whose.person, whose.names)
    around = without_author(event.around, whose.person, whose.names)
    return replace(event, quote=quote[0] if quote else None, around=around)


def _concerns(event: inbox.InboxEvent, whose: PersonKeys) -> bool:
    if event.address == UNREADABLE_AT:
        return bool(whole_words({whose.person, *whose.conversations}).search(event.text))
    if event.kind in (inbox.FORK, inbox.MERGED) and event.text.partition(" ")[0] in whose.sessions:
        return True  # it quotes what was said there
    if event.kind in _OF_TASKS and whole_words({whose.person, *whose.sessions}).search(event.text):
        return True  # it names who ordered it
    if event.kind == inbox.PARTICIPANT and SeatAct.read(event.text).seat.partition("/")[0] in whose.sessions:
        return True  # so may this
    return event.person_id == whose.person or event.address.key in whose.conversations


async def _begin_rewrite(client: Redis) -> bool:
    """Begin one; False while another is under way."""
    try:
        await client.bgrewriteaof()
    except ResponseError as error:
        if _REWRITING not in str(error):
            raise
        return False
    return True


async def _rewrite_is_over(client: Redis) -> bool:
    told = await client.info("persistence")
    return not (told["aof_rewrite_in_progress"] or told["aof_rewrite_scheduled"])


async def _rewrite_went_well(client: Redis) -> bool:
    told = await client.info("persistence")
    return bool(told["aof_last_bgrewrite_status"] == "ok")


def _without(person: str, value: Any) -> Any:
    """A JSON value in which nothing names the person: neither a key, nor an item, nor a text."""
    if isinstance(value, dict):
        return {key: _without(person, item) for key, item in value.items() if key != person}
    if isinstance(value, list):
        return [_without(person, item) for item in value if item != person]
    return "" if value == person else value
