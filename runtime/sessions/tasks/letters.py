"""Letters between orderers and tasks, as the texts of inbox events, and the way into an inbox."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.tape.facts.content import RAISED_AT
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import TaskStatus

PLATFORM = "task"
"""The platform of the addresses of tasks: no adapter has it, and people reach none of them."""

RETRY_S = 1.0
"""The pause before another try with a full inbox."""


def address_of(task: SessionId) -> Address:
    """The address of a task's own conversation, by its id."""
    return Address(PLATFORM, task)


class _Letter:
    def __str__(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)  # type: ignore[call-overload]

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or TypeError."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Order(_Letter):
    """The order with number `number` of the session `orderer`, which is in the conversation `home`. People see the
    task's messages at `place`; both addresses are as `ADDRESS` writes them. All tasks that come of the task `root` may
    use `tokens` and `dollars` together, 0 for any number. `event` is the type of the event of a client on which it
    begins, "" where that ordered it itself. `scope` and `owner` say which memories the task may recall. `unheard`:
    the orderer does not hear of a failure. `hops` events of programs led to it, one after the other."""

    number: int
    orderer: SessionId
    klass: str
    playbook: str
    arguments: Mapping[str, Any]
    due: float
    depth: int
    home: list[str | None]
    place: list[str | None]
    root: str = ""
    tokens: int = 0
    dollars: float = 0.0
    event: str = ""
    scope: str = ""
    owner: str = ""
    unheard: bool = False
    hops: int = 0

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or TypeError."""
        fields = json.loads(text)
        fields.pop("isolation", None)  # earlier versions wrote in which kind of process it was to be executed
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Result(_Letter):
    """The end of task `number` of the session `orderer`. The facts `first` to `last` of the session `task` say how
    it came about. `where` is the place where an error of the type `error_type` was raised, as `RAISED_AT` writes it."""

    number: int
    orderer: SessionId
    task: SessionId
    status: TaskStatus
    value: Any
    error: str | None
    first: int
    last: int
    error_type: str = ""
    where: list[Any] | None = None

    @property
    def raised_at(self) -> RaisedAt | None:
        """The place where its error was raised."""
        return None if self.where is None else RAISED_AT.read(self.where)


@dataclass(frozen=True, slots=True)
class TaskAgain(_Letter):
    """Task `number` of the session that reads it is to be ordered again, as the task `task`, with these arguments."""

    number: int
    task: SessionId
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskAsking(_Letter):
    """Task `number` of the session that reads it waits for an answer, or no longer (`waits`).

    `ask` is the id of the question, which its choices begin with, `messages` are the platform's ids of what people see
    of it, `people` those whose answer counts (ids, none for anybody). `words`: it has no choices.
    """

    number: int
    task: SessionId
    ask: str
    waits: bool
    messages: list[str]
    people: list[str]
    words: bool


@dataclass(frozen=True, slots=True)
class TaskWord(_Letter):
    """What an agent of the class `klass` says to task `number` of the session `orderer`, which is the session `task`,
    or `up` to that orderer. `hops` words between tasks and their orderers have led to it, itself included."""

    number: int
    orderer: SessionId
    task: SessionId
    up: bool
    klass: str
    text: str
    hops: int


@dataclass(frozen=True, slots=True)
class TakenWords(_Letter):
    """The words up to that of fact `seq` were taken: those to task `number` of the session `orderer`, which is the
    session `task`, or those `up` to that orderer."""

    number: int
    orderer: SessionId
    task: SessionId
    up: bool
    seq: int


def session_of(address: Address) -> SessionId | None:
    """The session of a task, by its address; None for a conversation of people."""
    return SessionId(address.conversation) if address.platform == PLATFORM else None


async def offer(event: InboxEvent, inbox: Inbox) -> bool:
    """Put an event into an inbox; False where that has no room now."""
    try:
        await inbox.add(event)
    except InboxFull:
        return False
    return True


async def bring(event: InboxEvent, inbox: Inbox, clock: Clock) -> None:
    """Put an event into an inbox, as soon as that has room."""
    while not await offer(event, inbox):
        await pause(clock)


async def pause(clock: Clock) -> None:
    """Wait before another try with a full inbox."""
    await clock.sleep_until(clock.monotonic() + RETRY_S)
