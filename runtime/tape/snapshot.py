"""Snapshots: what a session's facts add up to, so that a restart reads the facts after it alone, and a look into the
past those up to a moment.

A snapshot is never the truth, only a short way to it: without it the facts say the same. It is as good as the rules
that made it. Its version is therefore a digest of the code of these rules, and one of another version is of no use.

Folding all facts of a long tape takes seconds, so a fold up to a moment begins with the nearest snapshot of the store.
States are kept on the way as well: whoever goes back and forth pays for a few facts only.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import anyio
import anyio.lowlevel
from msgspec import Struct, field

from runtime.core.errors import Divergence
from runtime.core.ids import AgentId, ParticipantId, PersonId, SessionId, participant_id, person_id
from runtime.core.json_text import compact_json
from runtime.core.message import Message, message_from_data, message_to_data
from runtime.tape.fold import apply_fact
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import PARTS, SessionState, StatePart
from runtime.tape.tape import Fact

Written = TypeVar("Written")
_Change = Callable[[Any], Any]

_IDS: Mapping[Any, _Change] = {AgentId: AgentId, PersonId: person_id, ParticipantId: participant_id}
"""How ids are read; they are written as they are."""

EVERY = 2_000
"""The number of facts after which a state is kept again."""

KEPT_CHARS = 32 * 1024 * 1024
"""The most that is kept of all sessions, in characters; the session looked at the longest ago is forgotten first."""

_AT_ONCE = 200
"""The facts that are folded before others have a turn."""


class Snapshot(Struct, frozen=True):
    """The state after fact `seq`, as JSON, by the rules of `version`."""

    seq: int
    version: str
    text: str


@cache
def rules_version() -> str:
    """The version of the snapshots that this code writes and reads."""
    folders = (files("runtime.tape"), *(files(f"runtime.tape.{name}") for name in ("rules", "facts", "state")))
    code = [entry for folder in folders for entry in folder.iterdir() if entry.name.endswith(".py")]
    code += [entry for entry in files("runtime.core").iterdir() if entry.name.partition(".")[0] == "message"]
    digest = hashlib.sha256()
    for entry in sorted(code, key=lambda entry: entry.name):
        digest.update(entry.read_bytes())
    for _, part in sorted(PARTS.items()):
        digest.update(inspect.getsource(sys.modules[part.__module__]).encode())
    return digest.hexdigest()[:16]


def snapshot_of(state: SessionState) -> Snapshot:
    """A snapshot of a state whose facts are all on the tape."""
    text = compact_json(_writer(SessionState)(state))
    return Snapshot(state.seq, rules_version(), text)


def state_from(snapshot: Snapshot) -> SessionState | None:
    """The state of a snapshot; None for one that this code does not understand."""
    if snapshot.version != rules_version():
        return None
    try:
        state: SessionState = _reader(SessionState)(json.loads(snapshot.text))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return state if state.seq == snapshot.seq else None


class MomentFacts(Protocol):
    """Reads the facts of sessions, as `runtime.tape.tape.TapeStore` does it."""

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]: ...


class SessionMoment(Struct, frozen=True):
    """A session after one of its facts. `trouble` says why its facts cannot be read up to there."""

    state: SessionState
    trouble: str = ""


class _Kept(Struct):
    """The states that are kept of one session, by their facts."""

    seqs: list[int] = field(default_factory=list)
    states: list[Snapshot] = field(default_factory=list)

    @property
    def chars(self) -> int:
        return sum(len(one.text) for one in self.states)

    def before(self, seq: int) -> Snapshot | None:
        """The last one not after fact `seq`."""
        at = bisect_right(self.seqs, seq)
        return self.states[at - 1] if at else None

    def keep(self, state: SessionState) -> None:
        at = bisect_right(self.seqs, state.seq)
        if not at or self.seqs[at - 1] != state.seq:
            self.seqs.insert(at, state.seq)
            self.states.insert(at, snapshot_of(state))


class TapeMoments(Struct, eq=False):
    """Folds facts up to a moment. `snapshot` is the store's: the newest of a version of the rules, of no more than so
    many facts."""

    _tapes: MomentFacts
    _snapshot: Callable[[SessionId, str, int], Awaitable[Snapshot | None]]
    _kept: OrderedDict[SessionId, _Kept] = field(default_factory=OrderedDict)
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)

    async def at(self, session: SessionId, seq: int) -> SessionMoment:
        """The session after fact `seq`. Raises StorageError."""
        async with self._one_at_a_time:
            return await self._folded(session, seq)

    def forget(self, session: SessionId) -> None:
        self._kept.pop(session, None)

    async def _folded(self, session: SessionId, seq: int) -> SessionMoment:
        kept = self._kept.setdefault(session, _Kept())
        self._kept.move_to_end(session)
        state = await self._nearest(session, kept, seq)
        try:
            async for fact in self._tapes.read_session(session, after=state.seq, until=seq):
                apply_fact(state, fact)
                if state.seq % _AT_ONCE == 0:
                    await anyio.lowlevel.checkpoint()
                if state.seq % EVERY == 0:
                    kept.keep(state)
        except (Divergence, LookupError) as error:
            return SessionMoment(state, str(error))
        finally:
            self._let_go()
        return SessionMoment(state)

    async def _nearest(self, session: SessionId, kept: _Kept, seq: int) -> SessionState:
        """The state to begin with: a fresh one, since the fold changes it."""
        near = kept.before(seq)
        if near is None or seq - near.seq > EVERY:
            stored = await self._snapshot(session, rules_version(), seq)
            if stored is not None and (near is None or stored.seq > near.seq):
                near = stored
        state = None if near is None else state_from(near)
        return SessionState() if state is None else state

    def _let_go(self) -> None:
        while len(self._kept) > 1 and sum(one.chars for one in self._kept.values()) > KEPT_CHARS:
            self._kept.popitem(last=False)


@cache
def _writer(kind: Any) -> _Change:
    """The function that turns a value of a type into JSON data."""
    if kind is Message:
        return message_to_data
    if _is_struct(kind):
        parts = {name: _writer(hint) for name, hint in _hints(kind).items()}
        return lambda value: {name: write(getattr(value, name)) for name, write in parts.items()}
    return _changed(kind, _writer, {CallKey: str})


@cache
def _reader(kind: Any) -> _Change:
    """The function that turns JSON data into a value of a type."""
    if kind is Message:
        return message_from_data
    if kind in _IDS:
        return _IDS[kind]
    if _is_struct(kind):
        make: Callable[..., Any] = kind
        parts = {name: _reader(hint) for name, hint in _hints(kind).items()}
        return lambda data: make(**{name: read(data[name]) for name, read in parts.items()})
    return _changed(kind, _reader, {CallKey: CallKey.parse, int: int, **_IDS})


def _changed(kind: Any, change: Callable[[Any], _Change], keys: Mapping[Any, _Change]) -> _Change:
    """`change` for a type that is no class of ours. Keys are texts in JSON, hence `keys` for those that are not."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is dict and parts[1] is StatePart:
        return lambda data: {name: change(PARTS[name])(item) for name, item in data.items()}
    if origin is dict and parts[1] is not Any:
        key, value = keys.get(parts[0], _same), change(parts[1])
        return lambda data: {key(name): value(item) for name, item in data.items()}
    if origin is list:
        item = change(parts[0])
        return _same if item is _same else lambda data: [item(one) for one in data]
    if origin is tuple:
        part = change(parts[0]) if _is_struct(parts[0]) else _same
        return lambda data: tuple(map(part, data))
    if origin in (Union, UnionType) and NoneType in parts:
        (some,) = (change(part) for part in parts if part is not NoneType)
        return lambda data: None if data is None else some(data)
    if isinstance(kind, NewType):
        return change(kind.__supertype__)
    if kind in (str, int, float, bool, Any, *_IDS) or origin in (dict, Literal):
        return _same
    raise TypeError(f"A state has a value of the type {kind}, which a snapshot cannot keep.")


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _same(value: Written) -> Written:
    return value


def _hints(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind.__struct_fields__}
