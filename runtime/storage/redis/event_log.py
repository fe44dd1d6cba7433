"""The events for other programs on Redis. Those of sessions are read from the facts themselves, of which the log names
the places: no word is kept twice, and what is deleted or sealed is so for everybody."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import methodcaller
from typing import Any

from msgspec import Struct

from runtime.core.cloud_event import CloudEvent, event_from
from runtime.core.errors import ContentLocked, EventsGone
from runtime.core.ids import TapeId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, ContentSealing
from runtime.storage.redis.client.connection import Question, RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.streams import Entries
from runtime.storage.redis.sessions.fact_form import FactReading, large_values
from runtime.stores.event_log import KEPT_EVENTS, KEPT_MS, Cursor, LoggedEvent
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS
from runtime.tape.tape import Fact, tape_owner
from runtime.tape.view import event_of, source_of

_ADD = load_script("operation/add_event")
_NEWS_AT_ONCE = 1_000

Fields = Mapping[str, str]


class _Place(Struct, frozen=True):
    """A fact that is an event, as the log names it."""

    keys: ShardKeys
    tape: TapeId
    seq: int

    @property
    def question(self) -> Question:
        key, id_ = self.keys.tape(self.tape), f"{self.seq}-0"
        return key, methodcaller("xrange", key, id_, id_)


class RedisEventLog:
    """Implements `runtime.stores.event_log.EventLog`. `bound` is how many events of one shard are kept."""

    def __init__(self, connection: RedisConnection, *, bound: int = KEPT_EVENTS) -> None:
        self._connection = connection
        self._bound = bound
        self._watch = connection.watch()

    async def add(self, events: Sequence[CloudEvent], /) -> int:
        keys = ShardKeys(shard_of(events[0].source))
        names = [keys.events, keys.events_cut, *(keys.seen(event.source, event.id) for event in events)]
        arguments: list[str | int] = [uuid.uuid4().hex, KEPT_MS, self._bound]
        for event in events:
            arguments += [event.type, event.source, event.id, client_event_text(event, self._connection.sealing)]
        return int(await self._connection.run(_ADD, names, arguments))

    async def read(self, after: Cursor, /, *, count: int) -> Sequence[LoggedEvent]:
        answer = await self._found(after, count)
        cuts = await self._cuts(list(answer))
        for shard, cut in cuts.items():
            if _order(cut) > _order(after[shard]):
                raise EventsGone("Events after this place are no longer kept.")
        found = [(shard, entry_id, fields) for shard, entries in answer.items() for entry_id, fields in entries]
        events = await self._events(found)
        return [LoggedEvent(shard, id_, event) for (shard, id_, _), event in zip(found, events, strict=True)]

    async def wait(self, after: Cursor, /, *, wait_s: float) -> Cursor:
        shards = {ShardKeys(shard).events: shard for shard in after}
        places = {key: after[shard] for key, shard in shards.items()}
        answer = await self._watch.read(places, wait_s=wait_s, count=_NEWS_AT_ONCE)
        return {**after, **{shards[key]: entries[-1][0] for key, entries in answer}}

    async def newest(self) -> Cursor:
        keys = [ShardKeys(shard).events for shard in range(SHARDS)]  # the newest event of each is never cut off
        last = await self._connection.each(keys, lambda batch, key: batch.xrevrange(key, count=1))
        return {shard: found[0][0] if found else "0-0" for shard, found in enumerate(last)}

    async def oldest(self) -> Cursor:
        return await self._cuts(range(SHARDS))

    async def _cuts(self, shards: Sequence[int]) -> dict[int, str]:
        keys = [ShardKeys(shard).events_cut for shard in shards]
        cuts = await self._connection.each(keys, lambda batch, key: batch.get(key)) if keys else []
        return {shard: cut or "0-0" for shard, cut in zip(shards, cuts, strict=True)}

    async def _found(self, after: Cursor, count: int) -> Mapping[int, Entries]:
        """The entries after a cursor, by shard."""
        shards = {ShardKeys(shard).events: shard for shard in after}
        if await self._connection.kind() != "cluster":
            places = {key: after[shard] for key, shard in shards.items()}
            answer = await self._connection.read_streams(places, wait_s=0.0, count=count)
            return {shards[key]: entries for key, entries in answer}
        each = await self._connection.each(
            list(shards), lambda batch, key: batch.xrange(key, f"({after[shards[key]]}", "+", count=count)
        )
        return {shard: entries for shard, entries in zip(shards.values(), each, strict=True) if entries}

    async def _events(self, found: Sequence[tuple[int, str, Fields]]) -> list[CloudEvent]:
        places = {
            number: _Place(ShardKeys(shard), TapeId(fields["f"]), int(fields["q"]))
            for number, (shard, _, fields) in enumerate(found)
            if "f" in fields
        }
        answers = await self._connection.answers([place.question for place in places.values()])
        facts = dict(zip(places, answers, strict=True))
        events = []
        for number, (_, entry_id, fields) in enumerate(found):
            if number in places:
                events.append(await self._of_fact(places[number], facts[number], entry_id, fields["y"]))
            else:
                events.append(client_event(fields, self._connection.sealing, _time_of(entry_id)))
        return events

    async def _of_fact(self, place: _Place, entries: Any, entry_id: str, type_: str) -> CloudEvent:
        """The event of a fact; without data where the fact was deleted, archived, or cannot be opened."""
        try:
            return event_of(await self._fact(place, entries[0][1]), type_)
        except LookupError:
            source = source_of(tape_owner(place.tape))
            return CloudEvent(str(place.seq), type_, source, _time_of(entry_id), sequence=place.seq)

    async def _fact(self, place: _Place, fields: Fields) -> Fact:
        named = large_values(fields)
        texts = await self._connection.each(
            [place.keys.value(digest) for digest in named.values()], lambda batch, key: batch.hget(key, "text")
        )
        large = {name: (digest, text) for (name, digest), text in zip(named.items(), texts, strict=True)}
        return FactReading(place.keys.shard, self._connection.sealing).fact(place.tape, place.seq, fields, large)


def client_event_text(event: CloudEvent, sealing: ContentSealing) -> str:
    """The stored form of a client's event: JSON, sealed where content is."""
    return sealing.shared.seal(_binding(event.source, event.id), to_json(event.as_data(content=True)))


def client_event(fields: Fields, sealing: ContentSealing, at: datetime) -> CloudEvent:
    """A client's event from its entry, which was written at a time; without data where it cannot be opened."""
    source, id_ = fields["s"], fields["i"]
    try:
        written = json.loads(sealing.open(_binding(source, id_), fields["e"]))
        return event_from(written, source=source, now=at)
    except (ContentLocked, ValueError):
        return CloudEvent(id_, fields["y"], source, at)


def _binding(source: str, event_id: str) -> AssociatedData:
    return AssociatedData(f"events of {source}", ("event", event_id))


def _order(entry_id: str) -> tuple[int, int]:
    first, _, second = entry_id.partition("-")
    return int(first), int(second)


def _time_of(entry_id: str) -> datetime:
    return datetime.fromtimestamp(_order(entry_id)[0] / 1000, UTC)
