"""The events of the bus, in the past tense.

An event is a name of `<area>.<past tense>` and flat data under the standard logging keys (docs/logging.md). Those whose
data is read by more than the log are happenings: a frozen dataclass for each kind.
Names: session.started session.restored session.rested session.failed session.fenced · message.admitted
message.received message.routed message.delivered message.undelivered · channel.created channel.watcher_failed ·
stream.started stream.completed stream.observer_failed · playbook.started playbook.returned playbook.failed ·
frame.started frame.restored frame.parked frame.resumed frame.returned frame.failed frame.stopped · program.logged ·
turn.completed · step.executed step.rejected · trigger.fired · human.requested · page.opened page.sent page.finished
page.refused page.failed page.closed page.orphaned page.checked page.diverged · llm.requested llm.answered
llm.broke_off llm.failed · model.ready model.lost · sandbox.failed sandbox.unjailed · adapter.connected adapter.failed
adapter.rate_limited · storage.lost storage.back storage.doubted · archive.failed content.locked sessions.retired ·
node.balanced node.handed_over node.shard_lost node.isolated node.returned node.draining node.drained · job.failed ·
access.refused access.paired · debugger.attached debugger.detached debugger.refused · participant.posted
participant.refused participant.connected participant.left · remote.connected remote.listed remote.lost
remote.unreachable remote.progressed remote.said · meeting.started meeting.ended meeting.placeless · task.untold ·
tracing.failed tracing.resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar, dataclass_transform


@dataclass(frozen=True, slots=True)
class Happening:
    """What an event says; a subclass for each kind. See `happening`."""

    name: ClassVar[str] = ""

    def data(self) -> dict[str, Any]:
        """Its fields by the standard logging keys."""
        return {key: getattr(self, key) for key in keys_of(type(self))}


Kind = TypeVar("Kind", bound=Happening)


@dataclass_transform(frozen_default=True)
def happening(name: str) -> Callable[[type[Kind]], type[Kind]]:
    """Make a class what events of this name say."""

    def declare(declared: type[Kind]) -> type[Kind]:
        made: type[Kind] = dataclass(frozen=True, slots=True)(declared)
        made.name = name
        return made

    return declare


_KEYS: dict[type, tuple[str, ...]] = {}


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    known = _KEYS.get(kind)
    if known is None:
        known = _KEYS[kind] = tuple(part.name for part in fields(kind))
    return known


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; `at` is UTC. `what` is there for events of a kind of its own."""

    name: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    what: Happening | None = None
