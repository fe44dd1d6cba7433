"""Snapshots: what a session's facts add up to, so that a restart reads the facts after it alone.

A snapshot is never the truth, only a short way to it: without it the facts say the same. It is as good as the rules
that made it. Its version is therefore a digest of the code of these rules, and one of another version is of no use.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.resources import files
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from runtime.core.ids import AgentId, ParticipantId, PersonId, participant_id, person_id
from runtime.core.json_text import compact_json
from runtime.core.message import Message, message_from_data, message_to_data
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import PARTS, SessionState, StatePart

Written = TypeVar("Written")
_Change = Callable[[Any], Any]

_IDS: Mapping[Any, _Change] = {AgentId: AgentId, PersonId: person_id, ParticipantId: participant_id}
"""How ids are read; they are written as they are."""


@dataclass(frozen=True, slots=True)
class Snapshot:
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


@cache
def _writer(kind: Any) -> _Change:
    """The function that turns a value of a type into JSON data."""
    if kind is Message:
        return message_to_data
    if is_dataclass(kind):
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
    if is_dataclass(kind):
        make: Callable[..., Any] = kind  # type: ignore[assignment]
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
        part = change(parts[0]) if is_dataclass(parts[0]) else _same
        return lambda data: tuple(map(part, data))
    if origin in (Union, UnionType) and NoneType in parts:
        (some,) = (change(part) for part in parts if part is not NoneType)
        return lambda data: None if data is None else some(data)
    if isinstance(kind, NewType):
        return change(kind.__supertype__)
    if kind in (str, int, float, bool, Any, *_IDS) or origin in (dict, Literal):
        return _same
    raise TypeError(f"A state has a value of the type {kind}, which a snapshot cannot keep.")


def _same(value: Written) -> Written:
    return value


def _hints(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {part.name: hints[part.name] for part in fields(kind)}
