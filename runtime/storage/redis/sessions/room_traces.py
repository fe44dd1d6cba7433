"""Traces of a person in rooms of ours: messages, names, and notices and titles in which these stand."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from runtime.core.room import RoomMessage
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.stores.inbox import shard_of

_FORGET = load_script("rooms/forget")
_AT_ONCE = 500

CHARTERS = "web:charters"
OF_SEVERAL = frozenset({CHARTERS, "web:files"})
"""Tables whose records, JSON, name several people. Of such a record the rest stays when one of them is forgotten."""

_DIRECTORY = "web:directory"
_SOMEBODY = "somebody"


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
            each.id for each in await self._messages(room) if each.author_kind == "notice" and named.search(each.text)
        ]
        return await self.forget_messages(room, person, notices)

    async def forget_messages(self, room: str, person: str, ids: Collection[str]) -> int:
        """Take messages out of a room, and what points at them. `person`, unless it is "": also theirs."""
        keys = ShardKeys(shard_of(room))
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


def _without(person: str, value: Any) -> Any:
    """A JSON value in which nothing names the person: neither a key, nor an item, nor a text."""
    if isinstance(value, dict):
        return {key: _without(person, item) for key, item in value.items() if key != person}
    if isinstance(value, list):
        return [_without(person, item) for item in value if item != person]
    return "" if value == person else value
