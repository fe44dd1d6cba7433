"""The board beside the chat of `parley dev`: what is wrong with the programs, and where their sessions stand."""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus
from msgspec import Struct
from msgspec.structs import replace

from gateway.catalog import is_web
from gateway.dev.folder import ProgramTemplate
from gateway.dev.standing import line_of, standing
from gateway.observability.debugger.sources import step_of
from gateway.programs.reloading import ProgramReloading, ReloadResult
from gateway.programs.second_reader import SecondReading
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.events.frames import LLMBrokeOff, LLMFailed
from runtime.events.service import ModelUnknown, ProgramRefused, ReportOpened
from runtime.events.sessions import PlaybookFailed
from runtime.execution.frames.frame import Frame
from runtime.execution.session_context import StepWatcher, WatchedSession
from runtime.language.diagnostics import Diagnostic, Span
from runtime.llm.models import ModelRegistry
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.tape.facts.content import FactContent
from runtime.tape.state.frames import FrameState

SESSIONS = 50
"""The sessions that are remembered, those seen last."""

Look = Callable[[Sequence[Path]], tuple[Sequence[Diagnostic], object]]
"""The diagnostics of a program's files, errors and warnings. Takes a while."""

Tell = Callable[[str], None]
"""Prints a line for who writes the program."""

Own = Callable[[ProgramTemplate], str]
"""Writes a folder with a program from a template; the command that opens it. Raises OSError."""

_TOLD = frozenset({ProgramRefused.name, PlaybookFailed.name, ReportOpened.name})
_TOLD_BY_TALKS = frozenset({LLMBrokeOff.name, LLMFailed.name})
_PYTHON_LINE = re.compile(r"(?P<file>.+):(?P<line>\d+) in ")

RAN = 60
"""The steps that are remembered, those that ran last."""


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
        """Whether nothing of the log is shown but a model that does not exist: all else is told in the talk."""
        self._problems: list[dict[str, Any]] = []
        self._doubts: dict[str, list[dict[str, Any]]] = {}
        self._failures: dict[tuple[str, int], dict[str, Any]] = {}
        """The lines at which playbooks failed since the last reload."""
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
        doubts = (one for found in self._doubts.values() for one in found)
        return [*self._problems, *self._failures.values(), *doubts]

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
        if self.quiet:
            return happening != ModelUnknown.name
        told = _TOLD if self.models is None else _TOLD | _TOLD_BY_TALKS
        return self.own is None and happening in told

    def failed(self, what: PlaybookFailed, _at: datetime) -> None:
        """Say at which line a playbook failed, and mark that line until the program is read anew."""
        if self.own is not None:
            return
        span = self._raised_at(what)
        rows = ([] if span is None else (self.source(span.file) or "").splitlines()) or [""]
        if span is None:
            self._tell(f"{what.raised_at}: error: {what.error}")
            return
        row = rows[min(span.line, len(rows)) - 1]
        at = replace(span, column=len(row) - len(row.lstrip()) + 1)
        message = what.error.removeprefix(f"{what.raised_at.partition(': ')[2]}: ")
        problem = _problem(Diagnostic(message, at, row, width=len(row.strip())))
        self._failures[at.file, at.line] = problem | {"severity": "failure"}
        self._tell(problem["text"])
        self.touch()

    def _raised_at(self, what: PlaybookFailed) -> Span | None:
        """The innermost line of the program's Python, else the step."""
        places = [_PYTHON_LINE.match(line) for line in reversed(what.lines)]
        files = {Path(file).name: str(file) for files in self._files for file in files}
        for place in places:
            if place is not None and place["file"] in files:
                return Span(files[place["file"]], int(place["line"]))
        agent, _, step = what.raised_at.partition(": ")
        for watched in self._watched.values():
            klass = watched.program.agent(agent)
            spec = None if klass is None else klass.playbook(step.partition(":")[0])
            if spec is not None and watched.journal.session == what.session_id:
                found = step_of(spec, step)
                return spec.span if found is None else found.span
        return None

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
        if done.programs:
            self._failures.clear()
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


class _Steps(Struct, frozen=True):
    """Notes that a session has moved on. See `runtime.execution.session_context.StepWatcher`."""

    _board: DevBoard
    _watched: WatchedSession

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
