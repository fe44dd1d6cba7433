"""The debugger's view of one session: it receives the session's moments and stops the session where requested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

import anyio
from msgspec import Struct, field

from gateway.observability.debugger import sources
from gateway.observability.debugger.variables import Expressions, names_of
from runtime.core.errors import DebugError
from runtime.core.ids import AgentId
from runtime.events.happening import Tell
from runtime.events.service import DebuggerAttached, DebuggerDetached, DebuggerRefused
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.free.statement import control_value
from runtime.execution.session_context import WatchedSession
from runtime.language.program import PlaybookSpec
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import CallDropped, FrameReturned
from runtime.tape.facts.people import PageFinished
from runtime.tape.facts.session import AgentCreated, AgentStopped, MessageQueued, SessionLoaded
from runtime.tape.state.frames import FrameState

_WORDS = {"called": "A playbook is called", "returned": "A playbook has returned", "call": "A call"}


class Why(Struct, frozen=True):
    """The reason for a stop: in the protocol's terms, in words, and with the breakpoints."""

    reason: str
    text: str
    hit: tuple[int, ...] = ()


class Stand(Struct):
    """A stop of a session at a moment of one of its agents; without one after a pause."""

    agent: str
    moment: sources.Moment | None = None
    released: anyio.Event = field(default_factory=anyio.Event)


class Attached(Protocol):
    """The editor that is attached, or is about to be."""

    @property
    def wishes(self) -> sources.BreakpointWishes: ...

    def stands(self, watch: SessionWatch, why: Why, /) -> None: ...

    def goes_on(self, watch: SessionWatch, agent: str, /) -> None: ...

    def came(self, watch: SessionWatch, agent: str, /) -> None: ...

    def went(self, watch: SessionWatch, agent: str, /) -> None: ...

    def said(self, watch: SessionWatch, agent: str, text: str, /, *, category: str = "stdout") -> None: ...

    def dismiss(self) -> None: ...


_MAX_THREADS = 10_000
"""The number of agents outside memory whose thread numbers are remembered; a number is never given twice."""


class AgentThreads:
    """Numbers agents of the sessions in `watches`. An agent whose session returns to memory keeps its number."""

    def __init__(self) -> None:
        self.watches: list[SessionWatch] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._last = 0

    def __iter__(self) -> Iterator[tuple[int, SessionWatch, str]]:
        """All threads: number, session, agent."""
        for watch in self.watches:
            for agent in watch.journal.state.agents:
                yield self.number(watch, agent), watch, agent

    def number(self, watch: SessionWatch, agent: str) -> int:
        key = (str(watch.journal.session), agent)
        if key not in self._numbers:
            if len(self._numbers) >= _MAX_THREADS:
                here = {str(watch.journal.session) for watch in self.watches}
                self._numbers = {key: number for key, number in self._numbers.items() if key[0] in here}
            self._last += 1
            self._numbers[key] = self._last
        return self._numbers[key]

    def find(self, number: int) -> tuple[SessionWatch, str]:
        """The agent of a thread. Raises DebugError when it is not in memory."""
        for known, watch, agent in self:
            if known == number:
                return watch, agent
        raise DebugError(f"thread {number} no longer exists; its session has ended, or has left memory")

    @staticmethod
    def name(watch: SessionWatch, agent: str) -> str:
        """The name that people see: `Host in web:lobby`."""
        state = watch.journal.state
        known = state.agents[AgentId(agent)]
        return f"{known.klass}{state.number_of(known)} in {watch.conversation}"


class DebuggerDesk:
    """What sessions and the editor share: the place where editors attach, one at a time. `editor` is None while nobody
    debugs. `waits`: nothing is executed until the first one has connected."""

    def __init__(self, sources: sources.ProgramSources, expressions: Expressions, tell: Tell, *, waits: bool) -> None:
        self.sources = sources
        self.expressions = expressions
        self.tell = tell
        self.threads = AgentThreads()
        self.editor: Attached | None = None
        self.waits = waits
        self.came = anyio.Event()
        """Set when the editor that must connect before execution has connected."""
        self.closed = False
        self._reserved: Attached | None = None
        if not waits:
            self.came.set()

    @property
    def idle(self) -> bool:
        """Whether no editor is attached or expected."""
        return self.editor is None and self.came.is_set()

    def reserve(self, editor: Attached) -> bool:
        """Become the only editor; False if there is another."""
        if self.closed or self._reserved is not None:
            self.tell(DebuggerRefused("another editor is debugging"))
            return False
        self._reserved = editor
        return True

    def attach(self, editor: Attached) -> None:
        """From now on sessions stop at the editor's breakpoints."""
        if self._reserved is editor and self.editor is not editor:
            self.editor = editor
            editor.wishes.stop_on_entry |= self.waits
            self.waits = False
            self.came.set()
            self.tell(DebuggerAttached())

    def detach(self, editor: Attached) -> None:
        """Let every stopped session continue."""
        if self._reserved is not editor:
            return
        attached, self._reserved, self.editor = self.editor is editor, None, None
        for watch in [*self.threads.watches]:
            watch.go_on()
        if attached:
            self.tell(DebuggerDetached())

    def close(self) -> None:
        """Let every stopped session continue and end debugging, because the gateway stops."""
        self.came.set()
        if (editor := self._reserved) is not None:
            self.detach(editor)
            editor.dismiss()
        self.closed = True


class SessionWatch:
    """A step watcher. When one of its agents stops, the whole session stops."""

    def __init__(self, watched: WatchedSession, desk: DebuggerDesk) -> None:
        self.conversation = watched.conversation
        self.program = watched.program
        self.journal = watched.journal
        self.stand: Stand | None = None
        self.places: dict[str, sources.Place] = {}
        """The places of the last calls of frames in Python."""
        self._stepping: sources.Stepping | None = None
        self._desk = desk
        self._known_to: Attached | None = None

    # -- what the session does

    async def entered(self, frame: Frame, /) -> None:
        state = frame.state
        if self._desk.idle or state.turn or state.statements or state.records or state.at is not None:
            return
        spec = self.spec(state)
        spot = sources.StopSpot("playbook", frame.agent.klass, state.playbook)
        places = self._desk.sources.places(self.program, spot) if spec is not None else []
        names = (state.playbook, f"{frame.agent.klass}.{state.playbook}")
        await self._at(self._moment("called", frame, places=tuple(places), names=names))

    async def about_to_step(self, frame: Frame, /) -> None:
        spec = None if self._desk.idle or not frame.alive else self.spec(frame.state)
        step = spec.step(frame.state.at) if spec is not None and frame.state.at is not None else None
        if spec is None or step is None:
            return
        trail = frame.state.trail
        again = sources.is_again(spec, spec.step(trail[-2][0]) if len(trail) > 1 else None, step)
        places = self._step_places(frame, step.line)
        await self._at(self._moment("step", frame, places=places, about=step.text, line=step.line, again=again))

    async def about_to_run(self, frame: Frame, source: str, /) -> None:
        if self._desk.idle:
            return
        spec, location = self.spec(frame.state), sources.location_of(source)
        step = sources.step_of(spec, location) if spec is not None else None
        if spec is None or step is None:
            within = spec is not None and spec.steps  # without steps each statement is one
            await self._at(self._moment("statement" if within else "step", frame, about=source))
            return
        places = self._step_places(frame, step.line)
        again = sources.is_again(spec, sources.step_of(spec, frame.state.step), step)
        await self._at(self._moment("step", frame, places=places, about=source, line=step.line, again=again))

    async def about_to_say(self, _frame: Frame, /) -> None:
        """Hold the beginning of a text while the session is stopped."""
        await self._others()

    async def about_to_call(self, frame: Frame, call: FrameCall, /) -> None:
        if self._desk.idle or not frame.alive:
            return
        if call.place is None:
            await self._inside(frame, call)
            return
        file, _, line = call.place.rpartition(":")
        place = sources.Place(sources.real_path(file), int(line)) if line.isdigit() else None
        if place is not None:
            self.places[frame.id] = place
        values = [repr(value) for value in call.args] + [f"{name}={value!r}" for name, value in call.kwargs.items()]
        about = f"{call.name}({', '.join(values)})"
        await self._at(self._moment("call", frame, places=(place,) if place else (), about=about))

    async def refused(self, frame: Frame, rule: str, error: str, /) -> None:
        await self._at(self._moment("rejected", frame, about=f"{error} (rule: {rule})"))

    async def returned(self, frame: Frame, value: Any, /) -> None:
        await self._at(self._moment("returned", frame, value=value))

    async def failed(self, frame: Frame, error: Exception, /) -> None:
        if frame.alive:
            await self._at(self._moment("failed", frame, about=f"{type(error).__name__}: {error}"))

    def noted(self, fact: FactContent, /) -> None:
        """See `StepWatcher`. Reports what agents say, and new agents."""
        if isinstance(fact, FrameReturned | CallDropped | AgentStopped):
            self.places = {frame: place for frame, place in self.places.items() if frame in self.journal.state.frames}
        editor = self._desk.editor
        if editor is None:
            return
        with suppress(Exception):  # what an editor is told must not break what it is told of
            self._tell(editor, fact)

    def _tell(self, editor: Attached, fact: FactContent) -> None:
        state = self.journal.state
        match fact:
            case PageFinished():
                editor.said(self, state.pages[fact.page].agent, fact.text)
            case MessageQueued() if not fact.message.from_human:
                editor.said(self, fact.agent, f"(from {fact.message.sender_class}) {fact.message.content}")
            case AgentCreated():
                editor.came(self, fact.id)
            case SessionLoaded():
                for agent in state.agents:
                    editor.came(self, agent)

    def left(self, /) -> None:
        editor, watches = self._desk.editor, self._desk.threads.watches
        if self in watches:
            watches.remove(self)
        if editor is not None:
            for agent in self.journal.state.agents:
                editor.went(self, agent)

    # -- what the editor wants

    def pause(self, agent: str) -> None:
        """Stop from now on: nothing new starts, results still arrive."""
        editor = self._desk.editor
        if self.stand is None and editor is not None:
            self.stand = Stand(agent)
            editor.stands(self, Why("pause", "Paused"))

    def go_on(self, stepping: sources.Stepping | None = None) -> None:
        """Continue, perhaps only up to a nearby moment."""
        self._stepping = stepping
        stand, self.stand = self.stand, None
        if stand is not None:
            stand.released.set()

    def spec(self, frame: FrameState) -> PlaybookSpec | None:
        """The playbook of a frame; None for a tool of a server."""
        agent = self.program.agent(self.journal.state.agents[frame.agent].klass)
        return agent.playbook(frame.playbook) if agent is not None else None

    # -- between the two

    async def _inside(self, frame: Frame, call: FrameCall) -> None:
        """Pass a step that a `for` or an `if` of a reply starts."""
        index, statements = call.pos.partition(".")[0], frame.state.statements
        if call.name != "Step" or not index.isdigit() or int(index) >= len(statements):
            return
        if sources.location_of(statements[int(index)].source) is None:
            await self.about_to_run(frame, f"await Step({control_value(call, 'location')!r})")

    def _moment(self, kind: sources.MomentKind, frame: Frame, **more: Any) -> sources.Moment:
        return sources.Moment(kind, frame.id, frame.state.agent, **more)

    def _step_places(self, frame: Frame, line: str) -> tuple[sources.Place, ...]:
        spot = sources.StopSpot("step", frame.agent.klass, frame.state.playbook, line)
        return tuple(self._desk.sources.places(self.program, spot))

    async def _at(self, moment: sources.Moment) -> None:
        """Pass a moment, and stay at it while a stop is wanted. Cancelled when the frame is stopped meanwhile."""
        await self._desk.came.wait()
        await self._others()
        why = await self._reason(moment)
        if why is None:
            return
        await self.journal.commit()
        await self._others()
        editor = self._desk.editor
        if editor is None:
            return
        stand = self.stand = Stand(moment.agent, moment)
        self._stepping = None
        editor.stands(self, why)
        try:
            await stand.released.wait()
        finally:
            if self.stand is stand:
                self.go_on()
                editor.goes_on(self, moment.agent)

    async def _others(self) -> None:
        while self.stand is not None:
            await self.stand.released.wait()

    async def _reason(self, moment: sources.Moment) -> Why | None:
        editor = self._desk.editor
        if editor is None:
            return None
        try:
            return await self._why(editor, moment)
        except Exception as error:  # noqa: BLE001 - who debugs must not break what is debugged
            text = f"the debugger failed here: {type(error).__name__}: {error}"
            editor.said(self, moment.agent, text, category="console")
            return None

    async def _why(self, editor: Attached, moment: sources.Moment) -> Why | None:
        here = [] if moment.again else editor.wishes.at(moment.places, moment.names)
        hit = [one.id for one in here if await self._hits(editor, one, moment)]
        first, self._known_to = self._known_to is not editor, editor
        if first and editor.wishes.stop_on_entry:
            return Why("entry", "The first thing of this session")
        if hit:
            named = moment.kind == "called" and not moment.places
            return Why("function breakpoint" if named else "breakpoint", "A breakpoint", tuple(hit))
        stepping = self._stepping
        if stepping is not None and stepping.ends_at(moment, alive=stepping.frame in self.journal.state.frames):
            return Why("step", _WORDS.get(moment.kind, "A step"))
        if moment.kind in editor.wishes.filters:
            exception = moment.kind in ("failed", "rejected")
            return Why("exception" if exception else "breakpoint", moment.about or _WORDS[moment.kind])
        return None

    async def _hits(self, editor: Attached, wanted: sources.Breakpoint, moment: sources.Moment) -> bool:
        """Whether a breakpoint stops the session; a log point writes its message instead."""
        names = self.names(moment.frame)
        try:
            if wanted.condition and not await self._desk.expressions.value(wanted.condition, names):
                return False
        except DebugError as error:
            editor.said(self, moment.agent, f"condition {wanted.condition}: {error}", category="console")
            return False
        if not wanted.counts():
            return False
        if not wanted.log_message:
            return True
        text = await self._desk.expressions.filled(wanted.log_message, names)
        editor.said(self, moment.agent, text, category="console")
        return False

    def names(self, frame: str) -> dict[str, Any]:
        state = self.journal.state.frames[frame]
        return names_of(self.journal.state, state, self.spec(state))
