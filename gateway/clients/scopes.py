"""The rights of a client: scopes as the settings have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from runtime.core.address import CLIENT
from runtime.core.cloud_event import is_pattern, matches
from runtime.stores.inbox import TASK, InboxEvent
from runtime.stores.orders import TaskOrder

CONTENT = "content"
"""The scope of who may read what people and models write."""

PRIVATE = "private"
"""The scope of who may read them in private and direct rooms too; alone it allows nothing."""

CONSOLE = "console."
"""The beginning of the names of the clients that people at the console are."""

PROGRAM = "program."
"""The beginning of the names of the clients that programs are which publish events."""

JOURNAL = "sessions."
"""The beginning of the names of sessions' tapes."""

_WHAT = ("events", "tasks", "tapes")

_ALONE = frozenset({CONTENT, PRIVATE, "gateway:read", "gateway:write"})
"""Scopes that name nothing; the last two are those of who sees the whole gateway, and of who runs it."""

_FORMS = (
    "events:read:<pattern>, events:write:<pattern>, tasks:read:<program>, tasks:write:<program>, triggers:<program>, "
    "tapes:read:<name>, tapes:write:<name>, gateway:read, gateway:write, content, private"
)


class ClientScopes(Struct, frozen=True):
    """The scopes of one client. Without any it may do nothing."""

    events_read: tuple[str, ...] = ()
    events_write: tuple[str, ...] = ()
    tasks_read: tuple[str, ...] = ()
    tasks_write: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    tapes_read: tuple[str, ...] = ()
    tapes_write: tuple[str, ...] = ()
    content: bool = False
    private: bool = False
    gateway_read: bool = False
    gateway_write: bool = False

    def may_read(self, type_: str) -> bool:
        return any(matches(pattern, type_) for pattern in self.events_read)

    def may_send(self, type_: str) -> bool:
        return any(matches(pattern, type_) for pattern in self.events_write)

    def may_use(self, action: Literal["read", "write"], program: str) -> bool:
        """Whether tasks of a program may be looked at ("read"), or ordered and ended ("write")."""
        patterns = self.tasks_read if action == "read" else self.tasks_write
        return any(fnmatchcase(program, pattern) for pattern in patterns)

    def may_trigger(self, program: str) -> bool:
        return any(fnmatchcase(program, pattern) for pattern in self.triggers)

    def may_tape(self, action: Literal["read", "write"], name: str) -> bool:
        """Whether a tape may be read, or written. Those of sessions need a scope that names them as such: `*` alone
        means notebooks."""
        patterns = self.tapes_read if action == "read" else self.tapes_write
        journal = name.startswith(JOURNAL)
        return any(fnmatchcase(name, pattern) and pattern.startswith(JOURNAL) == journal for pattern in patterns)


def scopes_from(texts: Iterable[str]) -> ClientScopes:
    """The scopes of the settings. Raises ValueError for what is none."""
    found: dict[str, list[str]] = {f"{what}:{how}": [] for what in _WHAT for how in ("read", "write")}
    found["triggers"] = []
    alone: dict[str, bool] = {}
    for text in texts:
        kind, _, target = text.rpartition(":")
        if text in _ALONE:
            alone[text.replace(":", "_")] = True
        elif kind not in found or not target:
            raise ValueError(f'there is no scope "{text}"; there are: {_FORMS}')
        elif kind.startswith("events") and not is_pattern(target):
            raise ValueError(
                f'"{target}" is not a pattern of events; write words with dots between them, "*" for any word, and '
                '">" at the end for the rest'
            )
        else:
            found[kind].append(target)
    patterns: dict[str, Any] = {kind.replace(":", "_"): tuple(targets) for kind, targets in found.items()}
    return ClientScopes(**patterns | alone)


def refusals_of(scopes_of: Callable[[str], ClientScopes | None], *, console: bool) -> Callable[[InboxEvent], str]:
    """A function that says why the order of an event does not begin, "" where it may. `scopes_of` are those of who
    orders, by name; `console`: there is one."""

    def why(event: InboxEvent) -> str:
        platform, _, name = event.person_id.partition(":")
        if event.kind != TASK or platform != CLIENT:
            return ""
        if name.startswith(CONSOLE):
            return "" if console else "nobody orders at the console any more"
        own = scopes_of(name)
        if own is None:
            return f"{name} is no client any more"
        may = own.may_trigger if _on_an_event(event) else lambda program: own.may_use("write", program)
        return "" if may(event.program) else f"{name} has no scope any more to begin {event.program}"

    return why


def _on_an_event(event: InboxEvent) -> bool:
    """Whether a task begins on an event of the client, and not because it ordered it."""
    try:
        return bool(TaskOrder.read(event.text).event)
    except (ValueError, TypeError):
        return False
