"""The places at which a feature takes part in a node and in its sessions. A feature overrides what it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from anyio.abc import TaskGroup

from runtime.core.address import Address
from runtime.core.texts import Texts
from runtime.execution.calls.extensions import ExtensionCall
from runtime.execution.calls.reminders import Reminders, ZoneOf
from runtime.execution.execution_context import Told
from runtime.execution.speech.pages import Pages
from runtime.language.program import Program
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The parts of a session that features build on."""

    record: SessionRecord
    program: Program
    journal: Journal
    tasks: TaskGroup
    pages: Pages
    reminders: Reminders


class SessionPart:
    """What a feature does in one session."""

    calls: Sequence[object] = ()
    """Objects with built-in calls, declared by `@call`."""
    commands: Mapping[str, Callable[[InboxEvent], Awaitable[None]]] = {}
    """What carries out its commands, by their kinds."""
    listeners: Sequence[Callable[[Any], object]] = ()
    """What hears facts when they are noted."""
    told: Told | None = None
    """What a model is told of it."""

    def start(self, tasks: TaskGroup) -> None:
        """The session has its state: what goes on beside it goes on in `tasks`."""

    async def all_posted(self) -> None:
        """Return when others have what they are to have. Needs `start`."""

    def take(self, event: InboxEvent, /) -> None:
        """Note what belongs into the commit that takes an event."""

    def undoing(self, after: int, /) -> None:
        """Take back what came after a fact: another session goes on from there."""

    async def close(self) -> None:
        """The session ends, or another goes on in its place."""


class NodePart:
    """What a feature does in a process that serves conversations."""

    programs: Mapping[str, Program] = {}
    """Programs of its own, by name, which it alone orders."""
    outside: Mapping[str, ExtensionCall] = {}
    """Calls of these programs that are outside effects, by name."""

    @property
    def alone(self) -> NodePart | None:
        """What stands for it in sessions that keep nothing anywhere else; None where its calls are not possible."""
        return None

    async def gained(self, lease: Lease, /) -> None:
        """A shard is ours now."""

    def lost(self, shard: int, /) -> None:
        """A shard is another node's now."""

    async def committing(self, commit: Commit, /) -> None:
        """A session is about to commit. Raises StorageUnavailable: then it does not."""

    async def committed(self, commit: Commit, /) -> None:
        """A session has committed."""

    def session(self, parts: SessionParts, /) -> SessionPart:
        """What it does in a session."""
        return SessionPart()

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """The answer to a command in a conversation where no session lives, and for whom alone it is; None for what is
        no command of the feature. Raises LeaseLost: then the next node answers."""
        return None

    async def put_aside(self, event: InboxEvent, record: SessionRecord, cause: str, /) -> None:
        """An event will never be taken, since it made sessions fail; `record` is of the last one that tried. `cause`
        begins with the type of the error. Raises StorageUnavailable."""


def alone(parts: Iterable[NodePart]) -> list[NodePart]:
    """What stands for these parts in sessions that keep nothing anywhere else."""
    return [one for part in parts if (one := part.alone) is not None]


@runtime_checkable
class KeepsZones(Protocol):
    """A feature that knows the time zones of conversations."""

    def zone_of(self, conversation: Address, /) -> ZoneOf: ...
