"""Orders of tasks, as the texts of inbox events, and their limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from runtime.core.ids import SessionId


class JsonLetter:
    """What goes between sessions as the text of an event."""

    def __str__(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)  # type: ignore[call-overload]

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError or TypeError."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Order(JsonLetter):
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
class TaskLimits:
    """The limits of tasks: how deep tasks may order tasks, how many of one orderer are at work at once, how long each
    may take, and how many tokens and US dollars a task and all that it starts may use, 0 for any number."""

    depth: int = 3
    at_once: int = 8
    within_s: float = 600.0
    tokens: int = 0
    dollars: float = 0.0
