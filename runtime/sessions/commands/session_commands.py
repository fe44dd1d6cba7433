"""Commands for a session, except those that end it, and answers to people who ask what is going on and who is here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from runtime.agents.loops import AgentLoops
from runtime.core.errors import CommandRefused
from runtime.core.ids import PersonId, as_named
from runtime.core.markup import MarkdownPart, as_written
from runtime.core.texts import Texts
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.prompt.step_words import shown_call, shown_step
from runtime.language.program import Program
from runtime.sessions.features import SessionPart
from runtime.sessions.inbound.arrivals import HumanBinding, StopRequest
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.stores.inbox import SESSION_COMMANDS, InboxEntry
from runtime.tape.state.frames import FrameState, WaitState
from runtime.tape.state.session import AgentState, SessionState

MAX_LINES = 50
"""The number of agents, or participants of a meeting, that are named; the others are counted."""

_STEPS_S = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


class SessionCommands(Struct, eq=False):
    """The commands of one session. Each becomes facts and answers, for the commit that consumes it. `parts` carry out
    further commands."""

    _context: ExecutionContext
    _loops: AgentLoops
    _event_handler: EventHandler
    _binding: HumanBinding
    _parts: Sequence[SessionPart]

    async def carry_out(self, entry: InboxEntry, *, broken: bool) -> bool:
        """Carry out a command; False when the event is none, or one that a `broken` program cannot carry out."""
        command = SESSION_COMMANDS.get(entry.event.kind)
        if broken and command is not None and command.agents:
            return False
        try:
            return await self._carried_out(entry)
        except CommandRefused as why:
            self._context.pages.answer(str(why), entry.event)
        return True

    async def _carried_out(self, entry: InboxEntry) -> bool:
        event, state, program = entry.event, self._context.journal.state, self._context.program
        pages, texts = self._context.pages, self._context.pages.texts
        match event.kind:
            case "stop":
                await self.stop(StopRequest(entry))
            case "start":
                pages.answer(texts("session.already"), event)
            case "status":
                pages.answer(status_of(state, program.name, self._context.llm.model, texts), event)
            case "who":
                pages.answer(those_here(state, texts), event)
            case "agents":
                pages.answer(agents_at_work(state, program, self._context.clock.now().timestamp(), texts), event)
            case "iam":
                key, values = self._binding.claim(event)
                said = texts(f"session.{key}", **values)
                if key != "iam_bound":
                    raise CommandRefused(said)
                pages.tell(said, event.place)
            case kind:
                carry = next((part.commands[kind] for part in self._parts if kind in part.commands), None)
                if carry is None:
                    return False
                await carry(event)
        return True

    async def stop(self, stop: StopRequest) -> None:
        """Everything stops, and what was said before it is not answered."""
        busy, unread = await self._loops.stop()
        busy = bool([part for part in self._parts if part.stopped()]) or busy
        self._event_handler.stopped(unread, [entry.event for entry in stop.passed])
        pages, event = self._context.pages, stop.entry.event
        if busy or unread or stop.passed:
            pages.tell(pages.texts("session.stopped"), event.place)
        else:
            pages.answer(pages.texts("session.nothing_runs"), event)


def status_of(state: SessionState, program: str, model: str, texts: Texts) -> str:
    """The state of each agent, under the program, its model, and those that answered last."""
    answered = dict.fromkeys(state.answered_by.values())
    if answered and list(answered) != [model]:
        model = texts("session.status_answered", model=model, models=", ".join(answered))
    else:
        model = as_written(model)
    lines = [texts("session.status", program=program, model=MarkdownPart(model))]
    for agent in state.agents.values():
        stack = [f.playbook for f in state.frames.values() if f.agent == agent.id]
        doing = " → ".join(stack) or texts("session.status_idle")
        lines.append(texts("session.status_agent", agent=agent.klass, which=state.number_of(agent), doing=doing))
    return "\n".join(lines)


def those_here(state: SessionState, texts: Texts) -> str:
    people = [texts("session.who_person", name=state.spoken_name(person)) for person in state.people]
    here = ((agent.klass, state.number_of(agent)) for agent in state.agents.values())
    agents = [texts("session.who_agent", agent=klass, which=which) for klass, which in here]
    return "\n".join([*people, *agents])


def agents_at_work(state: SessionState, program: Program, now_s: float, texts: Texts) -> str:
    """The work of each agent and its duration, one a line."""
    agents = list(state.agents.values())
    if not agents:
        return texts("agents.none")
    lines = []
    for agent in agents[:MAX_LINES]:
        doing, since = _doing(state, program, agent, texts)
        time = lasting(now_s - since, texts)
        which = state.number_of(agent)
        lines.append(texts("agents.line", agent=agent.klass, which=which, doing=MarkdownPart(doing), time=time))
    if len(agents) > MAX_LINES:
        lines.append(texts("agents.more", count=len(agents) - MAX_LINES))
    return "\n".join(lines)


def lasting(seconds: float, texts: Texts) -> str:
    """A time in its largest whole unit: `12 s`, `3 min`."""
    for step_s, unit in _STEPS_S:
        if seconds >= step_s:
            return texts(f"time.{unit}", count=int(seconds // step_s))
    return texts("time.seconds", count=max(0, int(seconds)))


def _doing(state: SessionState, program: Program, agent: AgentState, texts: Texts) -> tuple[str, float]:
    """An agent's work, and the time when it began."""
    frames = [frame for frame in state.frames.values() if frame.agent == agent.id]
    if not frames:
        return texts("agents.stopped" if agent.paused else "agents.idle"), agent.since
    frame = _innermost(state, frames)
    meeting = state.meetings.get(frame.meeting or "")
    if meeting is not None and meeting.frame == frame.id and meeting.gathering:
        return texts("doing.meeting"), meeting.since
    waits = [wait for wait in state.waits.values() if wait.frame == frame.id]
    if waits:
        wait = min(waits, key=lambda wait: wait.seq)
        return _awaited(state, wait, texts), wait.since
    called = next((f.caller for f in state.frames.values() if f.caller and f.caller.frame == frame.id), None)
    if called is not None:
        return shown_call(called.name, texts), frame.since
    return _step(program, agent, frame, texts) or texts("agents.executes", playbook=frame.playbook), frame.since


def _innermost(state: SessionState, frames: list[FrameState]) -> FrameState:
    """The latest of an agent's frames that has called no other; the latest when all have."""
    callers = {frame.caller.frame for frame in state.frames.values() if frame.caller}
    return next((frame for frame in reversed(frames) if frame.id not in callers), frames[-1])


def _step(program: Program, agent: AgentState, frame: FrameState, texts: Texts) -> str | None:
    spec = program.agent(agent.klass)
    playbook = spec.playbook(frame.playbook) if spec is not None else None
    line = (frame.step or "").split(":")
    step = playbook.step(line[1]) if playbook is not None and len(line) > 1 else None
    return as_written(shown_step(step, texts) or "") if step is not None else None


def _awaited(state: SessionState, wait: WaitState, texts: Texts) -> str:
    source = wait.source
    if source is None:
        return texts("agents.waits_time")
    if "task" in source:
        return texts("agents.waits_task", task=source["task"])
    if "ask" in source:
        return texts("agents.waits_answer")
    if "meeting" in source:
        return texts("agents.waits_meeting", meeting=source["meeting"])
    names = list(_names(state, source))
    if names:
        return texts("agents.waits_for", names=", ".join(names))
    return texts("agents.waits_people")


def _names(state: SessionState, source: dict[str, object]) -> Iterator[str]:
    person = str(source.get("person") or source.get("of"))
    if PersonId(person) in state.people:
        yield state.called(person)
    elif source.get("declared") is not None:
        yield str(source["declared"])
    agents = source.get("agents")
    for id_ in agents if isinstance(agents, list) else ():
        agent = state.agent(str(id_))
        if agent is not None:
            yield agent.klass
        elif as_named(str(id_)) == id_:
            yield id_
