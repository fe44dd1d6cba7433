"""The rewriting of all content in its current form, after a key was replaced or encryption switched on or off."""

from __future__ import annotations

import base64
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from redis.asyncio import Redis

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding import sealing as seals
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import EARLIER, SHARD_KEY, ShardKeys, conversation_of_said
from runtime.storage.redis.inbox import EventForm
from runtime.storage.redis.mailboxes import letter_from_json, letter_key, letter_to_json
from runtime.storage.redis.memories import MemoryForm
from runtime.storage.redis.rooms import RoomForm
from runtime.storage.redis.sessions.kept import KeptWordsForm, call_anew, call_key
from runtime.storage.redis.sessions.known_sessions import SessionPlaces, keys_like
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.memories import MemoryScope
from runtime.tape.tape import tape_owner

_FIELD = load_script("rekeying/reseal_field")
_EVENTS = load_script("rekeying/rewrite_events")
_COPY = load_script("rekeying/copy_tape")
_SWAP = load_script("rekeying/swap_tapes")

_MAIL_KEY = re.compile(r"\{parley:participant:.*\}:mail\Z", re.DOTALL)
_FILE_KEY = re.compile(r"\{parley:file:([0-9a-f]+)\}\Z")
_AT_ONCE = 200
_COPY_KEPT_S = 600
_NUMBERED = frozenset({"schedules", "memories"})
"""Kinds of keys whose fields with numbers alone have content."""

Entries = Sequence[tuple[str, Mapping[str, str]]]


class DatabaseRekeying:
    """Goes through all of the database. A gateway may be at work meanwhile; whoever is broken off begins again.

    `platform` is the first part of the keys of rooms' conversations. What cannot be opened is left as it is.
    """

    def __init__(self, connection: RedisConnection, platform: str) -> None:
        self._connection = connection
        self._sealing = connection.sealing
        self._places = SessionPlaces(connection)
        self._events = EventForm(connection.sealing)
        self._memories = MemoryForm(connection.sealing)
        self._rooms = RoomForm(connection.sealing, platform)
        self._words = KeptWordsForm(connection.sealing)
        self._in_entries: Mapping[str, Callable[[Mapping[str, str]], str]] = {
            "tape": lambda entry: seals.key_of(entry.get("d", "")),
            "early": lambda entry: seals.key_of(entry.get("d", "")),
            "inbox": lambda entry: self._events.key_of(entry.get("e", "")),
            "dead": lambda entry: self._events.key_of(entry.get("e", "")),
            "notebook-entries": lambda entry: seals.key_of(entry.get("d", "")),
            "mail": lambda entry: letter_key(entry["l"]),
        }
        """The id of the key of an entry, by the kind of its stream."""
        self._in_fields: Mapping[str, Callable[[Mapping[str, str]], Iterable[str]]] = {
            "value": lambda fields: [seals.key_of(fields["text"])] if "text" in fields else [],
            "snapshot": lambda fields: (seals.key_of(text) for _, _, text in _snapshots(fields)),
            "schedules": lambda fields: (self._events.key_of(kept) for _, kept in _numbered(fields)),
            "memories": lambda fields: (self._memories.key_of(kept) for _, kept in _numbered(fields)),
            "memory-vectors": lambda fields: map(self._memories.key_of, fields.values()),
            "room": lambda fields: map(self._rooms.key_of, fields.values()),
            "said-message": lambda fields: map(self._words.key_of, fields.values()),
            "model-call": lambda fields: [call_key(fields["text"])] if "text" in fields else [],
            "file": lambda fields: (seals.key_of(base64.b64decode(piece)) for piece in _pieces(fields).values()),
        }
        self._anew_fields: Mapping[str, Callable[[str, str, str], str]] = {
            "schedules": lambda _, number, kept: self._events.anew(number, {"e": kept}).get("e", kept),
            "memories": lambda scope, _, kept: self._memories.write(
                self._memories.read(MemoryScope.of_key(scope), 0, kept)
            ),
            "memory-vectors": lambda scope, id_, kept: self._memories.vector_anew(MemoryScope.of_key(scope), id_, kept),
            "room": lambda room, _, kept: self._rooms.anew(room, kept),
            "said-message": lambda rest, _, kept: self._words.write(
                conversation_of_said(rest), self._words.read(conversation_of_said(rest), kept)
            ),
        }
        """The current form of a hash's field, by the kind of the key: given the key's rest, the field and its text."""

    async def survey(self) -> Counter[str]:
        """The number of entries under each key, by its id; under "" those that are not encrypted."""
        found: Counter[str] = Counter()
        async for key in self._keys():
            async for id_ in self._ids(key):
                found[id_] += 1
        return found

    async def run(self) -> int:
        """Rewrite everything that is not in its current form; returns the number of database keys that contained any of
        it.
        """
        changed = 0
        async for key in self._keys():
            changed += await self._renew(key)
        return changed

    async def rewrite(self) -> bool:
        """Have the server rewrite its file without the old content; False if it cannot be asked to."""
        return await RedisTraces(self._connection).rewrite()

    async def _keys(self) -> AsyncIterator[str]:
        async for keys in keys_like(self._connection, "{parley:*"):
            for key in sorted(set(keys)):
                yield key

    async def _ids(self, key: str) -> AsyncIterator[str]:
        kind = _kind(key)
        if kind in self._in_entries:
            async for page in self._pages(key):
                for _, fields in page:
                    yield self._in_entries[kind](fields)
        elif kind in self._in_fields:
            for id_ in self._in_fields[kind](await self._fields(key)):
                yield id_

    async def _renew(self, key: str) -> bool:
        in_shard, kind = SHARD_KEY.match(key), _kind(key)
        if in_shard is None:
            return await (self._renew_mail(key) if kind == "mail" else self._renew_file(key))
        keys, rest = ShardKeys(int(in_shard[1])), in_shard[3]
        if kind in ("tape", "early"):
            sealing = await self._places.sealing(keys, tape_owner(TapeId(rest)))
            return await self._renew_stream(keys, key, sealing, partial(self._fact, TapeId(rest), sealing))
        if kind == "notebook-entries":
            return await self._renew_stream(keys, key, self._sealing.shared, partial(self._notebook_entry, rest))
        if kind in ("inbox", "dead"):
            return await self._renew_events(key)
        if kind in self._anew_fields:
            return await self._renew_fields(key, partial(self._anew_fields[kind], rest), numbered=kind in _NUMBERED)
        if kind == "value":
            return await self._renew_value(key, seals.value_binding(keys.shard, rest))
        if kind == "snapshot":
            session = SessionId(rest)
            sealing = await self._places.sealing(keys, session)
            return await self._renew_snapshots(key, sealing, session)
        return kind == "model-call" and await self._renew_call(key, rest)

    async def _renew_stream(
        self,
        keys: ShardKeys,
        key: str,
        sealing: seals.ContentSealing,
        renewed: Callable[[str, Mapping[str, str]], dict[str, str]],
    ) -> bool:
        """Copy a tape, and replace it by the copy once that is complete: a tape never lacks an entry."""
        if await self._is_current(key, sealing):
            return False
        copy = f"{{parley:{keys.shard}}}:copy:{uuid.uuid4().hex}:{key}"
        after, outcome, last = "-", "grown", ""
        while outcome == "grown" and after != last:
            last = after
            async for page in self._pages(key, after):
                entries: list[str | int] = []
                for id_, fields in page:
                    has = renewed(id_, fields)
                    entries += [id_, 2 * len(has), *chain.from_iterable(has.items())]
                if not await self._connection.run(_COPY, [key, copy], [_COPY_KEPT_S, *entries]):
                    return False
                after = f"({page[-1][0]}"
            outcome = await self._connection.run(_SWAP, [key, copy], [])
        return bool(outcome == "ok")

    def _fact(self, tape: TapeId, sealing: seals.ContentSealing, id_: str, fields: Mapping[str, str]) -> dict[str, str]:
        has = dict(fields)
        if not sealing.is_current(has.get("d", "")):
            binding = seals.fact_binding(tape, _number(id_), has.get("k", ""), has.get("t", ""), has.get("v", ""))
            has["d"] = self._anew(sealing, binding, has["d"])
        return has

    def _notebook_entry(self, notebook: str, id_: str, fields: Mapping[str, str]) -> dict[str, str]:
        has, sealing = dict(fields), self._sealing.shared
        if sealing.is_current(has["d"]):
            return has
        mark = has.pop("m", f"anew.{_number(id_)}")
        line = self._anew(sealing, seals.notebook_binding(notebook, mark), has["d"])
        return {**has, "d": line, **({"m": mark} if line.startswith(seals.MARK) else {})}

    async def _is_current(self, key: str, sealing: seals.ContentSealing) -> bool:
        """Whether nothing of a tape needs rewriting. Content that cannot be decrypted stays."""
        async for page in self._pages(key):
            for _, fields in page:
                if not sealing.is_current(fields.get("d", "")) and self._sealing.has(seals.key_of(fields.get("d", ""))):
                    return False
        return True

    async def _renew_events(self, key: str) -> bool:
        changes: list[str] = []
        async for page in self._pages(key):
            for id_, fields in page:
                anew = self._events.anew(id_, fields)
                changes += [part for field in anew.items() for part in (id_, *field)]
        return bool(changes) and bool(await self._connection.run(_EVENTS, [key], changes))

    async def _renew_mail(self, key: str) -> bool:
        changes: list[str] = []
        async for page in self._pages(key):
            for id_, fields in page:
                with suppress(ContentLocked):
                    anew = letter_to_json(letter_from_json(fields["l"], self._sealing), self._sealing)
                    changes += [id_, "l", anew] if anew != fields["l"] else []
        return bool(changes) and bool(await self._connection.run(_EVENTS, [key], changes))

    async def _renew_fields(self, key: str, anew: Callable[[str, str], str], *, numbered: bool = False) -> bool:
        """Renew the fields of a hash, or those that are numbers: `anew` is given the name and the text of each."""
        changed, has = False, await self._fields(key)
        for name, kept in _numbered(has) if numbered else list(has.items()):
            with suppress(ContentLocked):
                changed = await self._replace(key, name, kept, anew(name, kept)) or changed
        return changed

    async def _renew_value(self, key: str, binding: seals.AssociatedData) -> bool:
        """Renew a value. Where only some conversations are encrypted, an unencrypted value belongs to one of the
        others.
        """
        text, sealing = (await self._fields(key)).get("text", ""), self._sealing.shared
        if not text or (self._sealing.selective and not seals.key_of(text)) or sealing.is_current(text):
            return False
        return await self._replace(key, "text", text, self._anew(sealing, binding, text))

    async def _renew_snapshots(self, key: str, sealing: seals.ContentSealing, session: SessionId) -> bool:
        changed, has = False, await self._fields(key)
        for field, seq, text in _snapshots(has):
            if not sealing.is_current(text):
                anew = self._anew(sealing, seals.snapshot_binding(session, seq, has["version"]), text)
                changed = await self._replace(key, field, text, anew) or changed
        return changed

    async def _renew_call(self, key: str, rest: str) -> bool:
        session = SessionId(rest.partition(" ")[0])
        keys = await self._places.keys(session)
        sealing = self._sealing if keys is None else await self._places.sealing(keys, session)
        return await self._renew_fields(key, lambda _, kept: call_anew(session, kept, sealing))

    async def _renew_file(self, key: str) -> bool:
        named = _FILE_KEY.match(key)
        if named is None:
            return False
        has, changed = await self._fields(key), False
        if "size" not in has:
            return False
        for number, piece in _pieces(has).items():
            content = base64.b64decode(piece)
            if self._sealing.shared.is_current(content):
                continue
            binding = seals.file_binding(named[1], int(has["size"]), number)
            with suppress(ContentLocked):
                anew = self._sealing.shared.seal_bytes(binding, self._sealing.open_bytes(binding, content))
                written = base64.b64encode(anew).decode("ascii")
                changed = await self._replace(key, str(number), piece, written) or changed
        return changed

    async def _replace(self, key: str, field: str, old: str, new: str) -> bool:
        return new != old and bool(await self._connection.run(_FIELD, [key], [field, old, new]))

    def _anew(self, sealing: seals.ContentSealing, binding: seals.AssociatedData, written: str) -> str:
        try:
            return sealing.seal(binding, self._sealing.open(binding, written))
        except ContentLocked:
            return written

    async def _pages(self, key: str, after: str = "-") -> AsyncIterator[Entries]:
        while True:
            page: Entries = await self._connection.read("xrange", key, min=after, count=_AT_ONCE)
            if page:
                yield page
            if len(page) < _AT_ONCE:
                return
            after = f"({page[-1][0]}"

    async def _fields(self, key: str) -> dict[str, str]:
        async def read(client: Redis) -> dict[str, str]:
            return {name: value async for name, value in client.hscan_iter(key, count=_AT_ONCE)}

        return await self._connection.retrying(read, key)


def _kind(key: str) -> str:
    in_shard = SHARD_KEY.match(key)
    if in_shard is not None:
        return in_shard[2]
    if _MAIL_KEY.match(key):
        return "mail"
    return "file" if _FILE_KEY.match(key) else ""


def _number(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])


def _snapshots(fields: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """The snapshots of a session, the newest and the earlier ones: the field, the fact, and the text of each."""
    newest = [("text", int(fields["seq"]), fields["text"])] if "text" in fields else []
    return newest + [
        (field, int(field.removeprefix(EARLIER)), text) for field, text in fields.items() if field.startswith(EARLIER)
    ]


def _numbered(fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is kept under numbers: schedules of a conversation, memories of a scope."""
    return [(name, kept) for name, kept in fields.items() if name.isdecimal()]


def _pieces(fields: Mapping[str, str]) -> Mapping[int, str]:
    return {int(name): piece for name, piece in fields.items() if name.isdecimal()}
