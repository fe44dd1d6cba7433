"""What came of a talk, beat by beat: its record, the messages that people see, and what began on events of other
programs, with its results.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct, field

from gateway.talks.talk import ArrivingEvent
from runtime.channels.outbox import LivePage, QuietPage, TextsAlone
from runtime.core.address import CLIENT, Address, address_data
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.ids import SessionId
from runtime.core.page import PageRecord, PageSpec
from runtime.language.event_triggers import arguments_of, begun_on_events
from runtime.language.program import Program
from runtime.stores.orders import TaskOrder
from runtime.stores.sessions import SessionStore
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState

StepPlace: TypeAlias = tuple[str, str, str]
"""A step: its agent, its playbook and its number."""


class SeenMessage(Struct):
    """A message that people see, as it is at the end. `place` is its number among all; `choices` are ids by label."""

    who: str
    text: str = ""
    place: int = 0
    choices: dict[str, str] = field(default_factory=dict)


class SeenCall(Struct, frozen=True):
    agent: str
    playbook: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.agent}.{self.playbook}({listed})"


class BeatRecord(Struct):
    """The outcome of a beat. `variables` are those after it, by agent.

    `fault` is what must not be in a test: a question to the model that nobody wrote an answer to, no rest, nothing to
    press.
    """

    seen: list[SeenMessage] = field(default_factory=list)
    letters: list[tuple[str, str]] = field(default_factory=list)
    """What agents in other processes were told, with their names."""
    calls: list[SeenCall] = field(default_factory=list)
    steps: list[StepPlace] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    """What came of what events began: texts as they are, other values as JSON."""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ended: bool = False
    waits: str = ""
    """What the program waits for that will not come by itself, for people."""
    fault: str = ""
    verdicts: dict[int, str] = field(default_factory=dict)
    """What the judge has against a line, by its number; "" for nothing."""


def waits_in(state: SessionState, now: datetime) -> str:
    """What a session waits for by the clock, for people; "" for nothing."""
    due = [wait.due for wait in state.waits.values() if wait.due is not None]
    if not due:
        return ""
    left_s = min(due) - now.timestamp()
    return f"it waits for a time, {left_s:g} seconds from now; `wait {left_s:g} seconds` lets it come"


@dataclasses.dataclass(eq=False)
class TalkScreen(TextsAlone):
    """Implements `runtime.channels.outbox.Outbox`. `on_message` hears of each message when it begins."""

    on_message: Callable[[SeenMessage], None]
    offered: list[SeenMessage] = dataclasses.field(default_factory=list)
    """The messages with choices, the newest last."""
    _opened: int = 0

    def page(self, spec: PageSpec, _record: PageRecord, /) -> LivePage:
        """See `Outbox`. Messages stand in the order in which their pages were opened."""
        self._opened += 1
        return _Page(self, spec, self._opened)


class _Page(QuietPage):
    def __init__(self, screen: TalkScreen, spec: PageSpec, place: int) -> None:
        self._screen = screen
        self._place = place
        self._spec = spec
        self._shown: SeenMessage | None = None

    def update(self, text: str, /) -> None:
        if self._shown is None and (text.strip() or self._spec.file is not None):
            self._shown = SeenMessage(self._spec.speaker.name, place=self._place)
            self._screen.on_message(self._shown)
        if self._shown is not None:
            self._shown.text = text

    async def finish(self, text: str, /) -> bool:
        self.update(text)
        if self._shown is not None and self._spec.file is not None:
            self._shown.text = f"{text}\n[{self._spec.file.name}]".strip()
        choices = {choice.label: choice.id for choice in self._spec.choices if not choice.free}
        if choices and self._shown is not None:
            self._shown.choices = choices
            self._screen.offered.append(self._shown)
        return True


def orders_of(
    program: Program, arrived: ArrivingEvent, id_: str, now: datetime, within_s: float
) -> Iterator[tuple[SessionId, TaskOrder]]:
    """The tasks that begin on an event of this id, each once, and their orders."""
    event = CloudEvent(id_, arrived.type, f"/clients/{arrived.source}", now, data=arrived.data)
    whose = address_data(Address(CLIENT, arrived.source))
    begun: set[str] = set()
    for one in begun_on_events(program.name, program):
        if not matches(one.pattern, event.type) or one.name in begun:
            continue
        begun.add(one.name)
        task = SessionId(hashlib.sha256(f"{id_} {one.name}".encode()).hexdigest()[:32])
        what = (one.klass, one.playbook.name, arguments_of(one.playbook, event))
        due = now.timestamp() + within_s
        yield task, TaskOrder(0, SessionId(""), *what, due, 1, whose, whose, task, event=event.type)


class EventTasks(Struct):
    """What events began in a talk, until it is over. `sources` are the clients whose events they were."""

    store: SessionStore
    sources: dict[SessionId, str] = field(default_factory=dict)

    async def results(self) -> list[str]:
        """The results of those that have ended without a failure since it was asked last: texts as they are, other
        values as JSON."""
        found: list[str] = []
        for task in list(self.sources):
            over = (await self._state(task)).order
            if over is not None and over.over:
                del self.sources[task]
                if over.status == "completed":
                    value = over.value
                    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                    found.append(text)
        return found

    async def asking(self, source: str) -> tuple[SessionId, str, str] | None:
        """The task that asks the oldest question of a client, "" for any, the question's id and who is asked; None
        where nothing is asked."""
        for task, whose in self.sources.items():
            questions = (await self._state(task)).questions.values() if source in ("", whose) else ()
            for question in questions:
                return task, question.page, whose
        return None

    async def _state(self, task: SessionId) -> SessionState:
        state = SessionState()
        async for fact in self.store.read_session(task):
            apply_fact(state, fact)
        return state
