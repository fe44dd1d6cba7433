"""Orders of tasks and their results, as the texts of inbox events; the limits of tasks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Self

from msgspec import Struct

from runtime.core.address import session_of
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.stores.inbox import TASK_OVER, InboxEvent
from runtime.tape.facts.content import ADDRESS, RAISED_AT
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import TaskStatus


class JsonLetter(Struct, frozen=True):
    """What goes between sessions as the text of an event."""

    def __str__(self) -> str:
        return json.dumps(plain_data(self), ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or TypeError."""
        return cls(**json.loads(text))


class TaskOrder(JsonLetter, frozen=True):
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


class TaskResult(JsonLetter, frozen=True):
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


class TaskAgain(JsonLetter, frozen=True):
    """Task `number` of the session that reads it is to be ordered again, as the task `task`, with these arguments."""

    number: int
    task: SessionId
    arguments: Mapping[str, Any]


class TaskLimits(Struct, frozen=True):
    """The limits of tasks: how deep tasks may order tasks, how many of one orderer are at work at once, how long each
    may take, and how many tokens and US dollars a task and all that it starts may use, 0 for any number."""

    depth: int = 3
    at_once: int = 8
    within_s: float = 600.0
    tokens: int = 0
    dollars: float = 0.0


class ModelSpending(Struct, frozen=True):
    """The cost of models so far."""

    tokens: float = 0
    dollars: float = 0


SpentOf = Callable[[str], Awaitable[ModelSpending]]
"""What a task and all the tasks that come of it have spent, by its id."""


def refusal(order: InboxEvent, error: str, now: datetime) -> InboxEvent | None:
    """The answer to an order that no session can take: the task has failed. Known by its id, where it is repeated. None
    where nobody can tell who ordered it."""
    try:
        taken = TaskOrder.read(order.text)
    except (ValueError, TypeError):
        return None
    task = session_of(order.address)
    letter = TaskResult(taken.number, taken.orderer, SessionId(str(task)), "failed", None, error, first=0, last=0)
    home = ADDRESS.read(taken.home)
    return InboxEvent(f"{TASK_OVER}.{task}", home, order.person_id, "", str(letter), now, kind=TASK_OVER)
