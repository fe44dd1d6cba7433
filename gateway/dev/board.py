"""The board beside the chat of `parley dev`: what is wrong with the programs, and where their sessions stand."""

from __future__ import annotations

import json
import re
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus
from msgspec import Struct

from gateway.catalog import is_web
from gateway.dev.folder import ProgramTemplate
from gateway.observability.debugger.sources import step_of
from gateway.observability.debugger.variables import arguments_of
from gateway.programs.reloading import ProgramReloading, ReloadResult
from gateway.programs.second_reader import SecondReading
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.events.service import ProgramRefused
from runtime.execution.frames.frame import Frame
from runtime.execution.session_context import StepWatcher, WatchedSession
from runtime.language.diagnostics import Diagnostic
from runtime.language.instructions.decode import decode
from runtime.language.instructions.explain import PartKind, StepPart, explain
from runtime.language.program import PlaybookSpec, Step
from runtime.llm.models import ModelRegistry
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.tape.facts.content import FactContent
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import AgentState, SessionState

MAX_VALUE_CHARS = 400
MAX_VARIABLES = 100

SESSIONS = 50
"""The sessions that are remembered, those seen last."""

Look = Callable[[Sequence[Path]], tuple[Sequence[Diagnostic], object]]
"""The diagnostics of a program's files, errors and warnings. Takes a while."""

Tell = Callable[[str], None]
"""Prints a line for who writes the program."""

Own = Callable[[ProgramTemplate], str]
"""Writes a folder with a program from a template; the command that opens it. Raises OSError."""

_TYPED = re.compile(r"(\$\w+):\w+")

RAN = 60
"""The steps that are remembered, those that ran last."""


def standing(watched: WatchedSession) -> dict[str, Any]:
    """A session as JSON data: its program, whether it has ended, its agents, each with its stack, innermost first."""
    state = watched.journal.state
    agents = [_agent(watched, state, agent) for agent in state.agents.values()]
    return {"program": watched.program.name, "ended": state.ended, "agents": agents}


def _agent(watched: WatchedSession, state: SessionState, agent: AgentState) -> dict[str, Any]:
    frames = [frame for frame in reversed(state.frames.values()) if frame.agent == agent.id]
    waiting = {wait.frame for wait in state.waits.values()}
    return {
        "id": agent.id,
        "name": f"{agent.klass}{state.number_of(agent)}",
        "waits": any(frame.id in waiting for frame in frames),
        "stack": [_entry(watched, agent, frame) for frame in frames],
        "variables": _shown(agent.variables),
    }


def line_of(watched: WatchedSession, frame: FrameState) -> tuple[str, int]:
    """The file and the line of the step that a frame is at; ("", 0) where it is at none."""
    agent = watched.journal.state.agent(frame.agent)
    _, step = (None, None) if agent is None else _at(watched, agent, frame)
    return ("", 0) if step is None else (step.span.file, step.span.line)


def _at(watched: WatchedSession, agent: AgentState, frame: FrameState) -> tuple[PlaybookSpec | None, Step | None]:
    klass = watched.program.agent(agent.klass)
    spec = None if klass is None else klass.playbook(frame.playbook)
    if spec is None:
        return None, None
    return spec, spec.step(frame.at) if frame.at is not None else step_of(spec, frame.step)


def _entry(watched: WatchedSession, agent: AgentState, frame: FrameState) -> dict[str, Any]:
    spec, step = _at(watched, agent, frame)
    span = step.span if step is not None else None if spec is None else spec.span
    return {
        "playbook": frame.playbook,
        "step": "" if step is None else step.line,
        "text": "" if step is None else in_words(step, walked=spec is not None and spec.walked),
        "file": "" if span is None else span.file,
        "line": 0 if span is None else span.line,
        "arguments": _shown(arguments_of(frame, spec) | frame.locals),
    }


def in_words(step: Step, *, walked: bool) -> str:
    """What is done in a step, in sentences; the author's words where a model reads them."""
    return " ".join(filter(None, map(_sentence, explain(decode(step))))) if walked else step.text


def _sentence(part: StepPart) -> str:
    """A part of a step without types; "" for what is said in the part before it."""
    text, (head, _, words) = part.text, part.text.partition(": ")
    if head == "The answer":
        return ""
    if part.kind is PartKind.WORDS and head.removeprefix("A message to ").lower() in words.lower():
        text = words
    text = _TYPED.sub(r"\1", text)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _shown(values: dict[str, Any]) -> dict[str, str]:
    """The values as text, the first ones and each cut, without private ones."""
    found: dict[str, str] = {}
    named = [(name, value) for name, value in values.items() if not name.startswith("_")]
    for name, value in named[:MAX_VARIABLES]:
        text = json.dumps(value, ensure_ascii=False, default=str)
        found[name] = text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"
    return found


class Ran(Struct, frozen=True):
    """A step that ran in a room: its place among all, and its line."""

    number: int
    room: str
    file: str
    line: int


class DevBoard:
    """Watches the sessions of a node, and its reloads. It stands in the place of a debugger, and stops nothing.

    `anew`: after a reload the rooms of a program that changed begin anew; else they go on where they can. `own` is for
    the board of the tour, which only shows: it makes a program for an owner who wants one.
    """

    def __init__(self, look: Look, tell: Tell, own: Own | None = None) -> None:
        self._look = look
        self._tell = tell
        self.own = own
        self._ran: deque[Ran] = deque(maxlen=RAN)
        self._watched: OrderedDict[str, WatchedSession] = OrderedDict()
        self._reloading: ProgramReloading | None = None
        self._inbox: Inbox | None = None
        self._clock: Clock | None = None
        self._reloads: list[ReloadResult] = []
        self._came = WakeSignal()
        self.changed = WakeSignal()
        self.moment = 0
        """Grows whenever there is something new to see."""
        self.anew = False
        self.models: Callable[[Bus], tuple[ModelRegistry, str]] | None = None
        """What answers in place of the models of the settings, and a line about it."""
        self.reads_again = False
        """Whether a second reader looks at the programs."""
        self.quiet = False
        """Whether nothing of the log is shown: all is told in the talk."""
        self._problems: list[dict[str, Any]] = []
        self._doubts: dict[str, list[dict[str, Any]]] = {}
        self._reads = 0
        """How often the files were read: pages fetch their texts anew when it grows."""

    @property
    def head(self) -> str:
        return "board"

    @property
    def line(self) -> str:
        return "beside the chat" + ("; a file that you save is read at once" if self.own is None else "")

    @property
    def problems(self) -> list[dict[str, Any]]:
        return [*self._problems, *(one for found in self._doubts.values() for one in found)]

    def attach(self, reloading: ProgramReloading, inbox: Inbox, clock: Clock) -> None:
        """Follow these reloads, and begin rooms anew by way of `inbox`."""
        self._reloading, self._inbox, self._clock = reloading, inbox, clock
        reloading.done.subscribe(self._reloaded)
        self._reloaded(ReloadResult())

    async def serve(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Look at programs after each reload, until cancelled. There is no port."""
        task_status.started(0)
        while True:
            while self._reloads:
                await self._note(self._reloads.pop(0))
            await self._came.wait()

    def close(self) -> None:
        """Nothing is held."""

    def tells(self, happening: str) -> bool:
        """Whether people are told of it in words, so that the log leaves it out."""
        return self.quiet or (self.own is None and happening == ProgramRefused.name)

    def doubt(self, name: str, reading: SecondReading) -> None:
        self._doubts[name] = [_problem(one) for one in reading.found]
        for text in (*(one["text"] for one in self._doubts[name]), reading.said):
            self._tell(text)
        self.touch()

    # -- what sessions do

    def watch(self, watched: WatchedSession) -> StepWatcher:
        self._watched[watched.conversation] = watched
        self._watched.move_to_end(watched.conversation)
        while len(self._watched) > SESSIONS:
            self._watched.popitem(last=False)
        self.touch()
        return _Steps(self, watched)

    def ran(self, watched: WatchedSession, frame: FrameState) -> None:
        """Control has reached a step. Where it waits already the session has only come back to memory."""
        place, (file, line) = _place(watched.conversation), line_of(watched, frame)
        back = any(f"{key.frame}:".startswith(f"{frame.id}:") for key in watched.journal.state.waits)
        if place is not None and line and not back:
            number = self._ran[-1].number + 1 if self._ran else 1
            self._ran.append(Ran(number, place.conversation, file, line))

    def touch(self) -> None:
        self.moment += 1
        self.changed.send()

    # -- what pages ask

    def view(self, room: str) -> dict[str, Any]:
        places = [(_place(key), watched) for key, watched in self._watched.items()]
        sessions = [
            {"thread": place.thread, **standing(watched)}
            for place, watched in places
            if place is not None and place.conversation == room
        ]
        first = next((str(file) for files in self._files for file in files), None)
        ran = [[one.number, one.file, one.line] for one in self._ran if one.room == room]
        seen = {"problems": self.problems, "sessions": sessions, "file": first, "reads": self._reads, "ran": ran}
        return seen | {"anew": self.anew, "tour": self.own is not None}

    def source(self, file: str) -> str | None:
        """The text of a file of a program; None for any other file."""
        known = {step for watched in self._watched.values() for step in _files(watched)}
        known |= {str(path) for files in self._files for path in files}
        if file not in known:
            return None
        try:
            return Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    @property
    def _files(self) -> Collection[Sequence[Path]]:
        return () if self._reloading is None else self._reloading.files.values()

    @property
    def ended(self) -> bool:
        return bool(self._watched) and all(one.journal.state.ended for one in self._watched.values())

    def names(self) -> set[str]:
        return {watched.program.name for watched in self._watched.values()}

    async def begin_anew(self, names: Collection[str]) -> None:
        """End the sessions of these programs in rooms, and begin others there."""
        assert self._inbox is not None
        assert self._clock is not None
        for key, watched in list(self._watched.items()):
            people, place = list(watched.journal.state.people.items()), _place(key)
            if place is None or watched.program.name not in names or not people:
                continue
            person, known = people[-1]
            who, now, program = (str(person), known.name), self._clock.now(), watched.program.name
            event = InboxEvent(f"dev.{uuid.uuid4().hex}", place, *who, "", now, kind="new", program=program)
            await self._inbox.add(event)

    # -- what reloads bring

    def _reloaded(self, done: ReloadResult) -> None:
        for name in done.programs:
            self._doubts.pop(name, None)
        self._reloads.append(done)
        self._came.send()

    async def _note(self, done: ReloadResult) -> None:
        await self._look_again(done)
        for problem in self._problems:
            self._tell(problem["text"])
        if done.programs:
            self._tell(f"{', '.join(done.programs)}: read, {_counted(self._problems)}.")
        if done.refused:
            self._tell(f"{', '.join(done.refused)}: not read. The chat continues with the earlier program.")
        if done.programs and self.anew:
            await self.begin_anew(done.programs)

    async def _look_again(self, done: ReloadResult) -> None:
        """Find what is wrong with the programs as their files are now."""
        assert self._reloading is not None
        found: list[dict[str, Any]] = []
        unsaid = dict(done.refused)
        for name, files in self._reloading.files.items():
            diagnostics, _ = await to_thread.run_sync(self._look, files)
            found += map(_problem, diagnostics)
            if any(one.severity == "error" for one in diagnostics):
                unsaid.pop(name, None)
        found += [{"severity": "error", "file": "", "line": 0, "text": error} for error in unsaid.values()]
        self._problems = found
        self._reads += 1
        self.touch()


class _Steps:
    """Notes that a session has moved on. See `runtime.execution.session_context.StepWatcher`."""

    def __init__(self, board: DevBoard, watched: WatchedSession) -> None:
        self._board = board
        self._watched = watched

    async def about_to_step(self, frame: Frame, /) -> None:
        self._board.ran(self._watched, frame.state)
        self._board.touch()

    async def _moved_on(self, *_: object) -> None:
        self._board.touch()

    entered = about_to_run = about_to_call = refused = returned = failed = _moved_on

    async def about_to_say(self, frame: Frame, /) -> None:
        """What is said is seen in the chat."""

    def noted(self, fact: FactContent, /) -> None:
        self._board.touch()

    def left(self) -> None:
        """It is shown as it was when it left memory."""


def _place(key: str) -> Address | None:
    """The room or thread of a conversation's key; None outside of the web chat."""
    platform, _, rest = key.partition(":")
    room, _, thread = rest.partition("#")
    return Address(platform, room, thread or None) if is_web(platform) else None


def _files(watched: WatchedSession) -> set[str]:
    spans = (playbook.span for agent in watched.program.agents for playbook in agent.playbooks)
    steps = (
        step.span for agent in watched.program.agents for playbook in agent.playbooks for step in playbook.walk_steps()
    )
    return {span.file for span in (*spans, *steps)}


def _problem(one: Diagnostic) -> dict[str, Any]:
    return one.as_json() | {"text": one.render()}


def _counted(problems: Sequence[Mapping[str, Any]]) -> str:
    number = sum(one["severity"] != "error" for one in problems)
    return "no warnings" if not number else f"{number} warning{'' if number == 1 else 's'}"
