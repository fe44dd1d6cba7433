"""Letters between orderers and tasks, as the texts of inbox events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.core.ids import SessionId
from runtime.stores.orders import JsonLetter
from runtime.tape.facts.content import RAISED_AT
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import TaskStatus


@dataclass(frozen=True, slots=True)
class Result(JsonLetter):
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
class TaskAgain(JsonLetter):
    """Task `number` of the session that reads it is to be ordered again, as the task `task`, with these arguments."""

    number: int
    task: SessionId
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskAsking(JsonLetter):
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
class TaskWord(JsonLetter):
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
class TakenWords(JsonLetter):
    """The words up to that of fact `seq` were taken: those to task `number` of the session `orderer`, which is the
    session `task`, or those `up` to that orderer."""

    number: int
    orderer: SessionId
    task: SessionId
    up: bool
    seq: int
