"""The stored form of facts on Redis: small ones complete, large values separately, by their hash; and how facts are
written of a session that is not at work: an imported one, or one whose parent is removed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId, TapeId
from runtime.core.json_text import compact_json
from runtime.storage.encoding.codec import fact_fields, fact_from_fields
from runtime.storage.encoding.sealing import MARK, PLAIN, ContentSealing, fact_binding, value_binding, values_home
from runtime.storage.redis.client.connection import load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.tape.tape import ANCHORS, UNREADABLE, Fact, opened

LARGE_BYTES = 16 * 1024
"""The JSON size of a fact's value from which it is stored separately, by its hash."""


_LONG_AGO = datetime.fromtimestamp(0, UTC)

_FACTS = load_script("sessions/facts")

_FACTS_AT_ONCE = 200


class FactForms(Struct):
    """Facts of one session as the scripts take them.

    `keys` are the tapes and large values that the scripts' arguments name by number, from `first` on. `sealing` is how
    their data is written.
    """

    shard: ShardKeys
    first: int
    sealing: ContentSealing = PLAIN
    keys: list[str] = field(default_factory=list)
    facts: list[str | int] = field(default_factory=list)
    values: list[str | int] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, fact: Fact, tape_key: str) -> None:
        """Add a fact for the stream `tape_key`."""
        kind, at, data = fact_fields(fact)
        named = ""
        if len(data) > LARGE_BYTES // 4:  # a character has up to four bytes
            data, large = _parted(fact.data)
            named = compact_json({name: self._value(text) for name, text in large.items()}) if large else ""
        if self.sealing is not PLAIN:
            data = self.sealing.seal(fact_binding(fact.tape, fact.seq, kind, at, named), data)
        self.facts += [self._number(tape_key), fact.seq, kind, at, data, named]
        if kind in ANCHORS:
            self.anchors.append(anchor_name(kind, fact.seq))

    def arguments(self) -> list[str | int]:
        """The lists of anchors, large values and facts, each preceded by its length."""
        values, facts = len(self.values) // 3, len(self.facts) // 6
        return [len(self.anchors), *self.anchors, values, *self.values, facts, *self.facts]

    def _value(self, text: str) -> str:
        digest = self.sealing.digest(values_home(self.shard.shard), text)
        key = self.shard.value(digest)
        if key not in self._numbers:
            sealed = self.sealing.seal(value_binding(self.shard.shard, digest), text)
            self.values += [self._number(key), digest, sealed]
        return digest

    def _number(self, key: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = self.first + len(self.keys)
            self.keys.append(key)
        return self._numbers[key]


def large_values(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The separately stored values of a fact: the hash of each."""
    try:
        named: Mapping[str, str] = json.loads(fields.get("v", "{}"))
    except ValueError:
        return {}
    return named


class FactReading(Struct, frozen=True):
    """The reading of a shard's facts."""

    shard: int
    sealing: ContentSealing

    def fact(
        self, tape: TapeId, seq: int, fields: Mapping[str, str], large: Mapping[str, tuple[str, str | None]]
    ) -> Fact:
        """A fact from the fields of its entry, and its large values: the hash and the text of each.

        One that cannot be read is of the kind `UNREADABLE`, with its fields as they are: no fold takes it, and who
        reads many sessions goes on. Of one that is encrypted and cannot be opened `locked` says why.
        """
        try:
            fact = self._read(tape, seq, fields, large)
        except ContentLocked as error:
            return Fact(tape, seq, UNREADABLE, _LONG_AGO, {"fields": dict(fields), "locked": str(error)})
        except (ValueError, LookupError):
            return Fact(tape, seq, UNREADABLE, _LONG_AGO, {"fields": dict(fields)})
        return fact

    def _read(
        self, tape: TapeId, seq: int, fields: Mapping[str, str], large: Mapping[str, tuple[str, str | None]]
    ) -> Fact:
        kind, at, data = fields["k"], fields["t"], fields["d"]
        if data.startswith(MARK):
            data = self.sealing.open(fact_binding(tape, seq, kind, at, fields.get("v", "")), data)
        fact = fact_from_fields(tape, seq, (kind, at, data))
        values = {name: json.loads(self._value(digest, text)) for name, (digest, text) in large.items()}
        return Fact(tape, seq, fact.kind, fact.at, {**fact.data, **values}) if values else fact

    def _value(self, digest: str, text: str | None) -> str:
        return self.sealing.open(value_binding(self.shard, digest), text or "")


def anchor_name(kind: str, seq: int) -> str:
    """An anchor in its session's list, where the names of one kind are in order."""
    return f"{kind}:{seq:016d}"


def anchor_seq(found: Sequence[str]) -> int | None:
    """The number of the first of these anchors."""
    return int(found[0].rpartition(":")[2]) if found else None


async def each_of(facts: Sequence[Fact]) -> AsyncIterator[Fact]:
    """Facts that are there already, for `write_facts`."""
    for fact in facts:
        yield fact


async def write_facts(
    places: SessionPlaces,
    facts: AsyncIterable[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
    only_with: str = "",
) -> set[TapeId] | None:
    """Write facts, each to the stream `key_of` its tape, unless it is there. The tapes; the session has them then.

    Raises ContentLocked for a fact that cannot be opened. None when the session's record has not, or no longer, the
    field `only_with`. Nothing more was written then.
    """
    written: set[TapeId] = set()
    page: list[Fact] = []
    async for fact in facts:
        page.append(fact)
        if len(page) == _FACTS_AT_ONCE:
            if not await _write(places, page, session, keys, key_of, only_with):
                return None
            written |= {fact.tape for fact in page}
            page.clear()
    if page and not await _write(places, page, session, keys, key_of, only_with):
        return None
    return written | {fact.tape for fact in page}


def _parted(data: Mapping[str, object]) -> tuple[str, Mapping[str, str]]:
    """The data without its large values, and the large values, as JSON."""
    texts = {name: compact_json(value) for name, value in data.items()}
    large = {name: text for name, text in texts.items() if len(text.encode()) > LARGE_BYTES}
    return compact_json({name: value for name, value in data.items() if name not in large}), large


async def _write(
    places: SessionPlaces,
    facts: Sequence[Fact],
    session: SessionId,
    keys: ShardKeys,
    key_of: Callable[[TapeId], str],
    only_with: str,
) -> bool:
    tapes = sorted({fact.tape for fact in facts})
    forms = FactForms(keys, first=5, sealing=await places.sealing(keys, session))
    for fact in facts:
        forms.add(opened(fact), key_of(fact.tape))
    names = [keys.session(session), keys.tapes(session), keys.anchors(session), keys.values(session), *forms.keys]
    return bool(await places.connection.run(_FACTS, names, [only_with, len(tapes), *tapes, *forms.arguments()]))
