"""The host calls that every playbook has: waiting, variables, time, chance, the log, and speaking."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any

import anyio
from msgspec import Struct, field

from runtime.bus import Bus
from runtime.core.background import ListenerList
from runtime.core.clock import LOOK_S, until
from runtime.core.errors import PlaybookError, QueueTimeout
from runtime.core.ids import AgentId
from runtime.core.message import Message, MessageType, message_to_data
from runtime.events.frames import StepExecuted, TriggerFired
from runtime.events.sessions import ProgramLogged
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import FrameEvents, at_work, site
from runtime.execution.frames.signatures import Later, OwnType, Seconds, VariableName, call
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.utterances import SessionConduits, SessionUtterances
from runtime.execution.triggers.triggers import VariableRules
from runtime.tape.facts.frames import CallReturned, WaitBegun, WaitEnded
from runtime.tape.facts.session import MessagesDropped, SessionEnded
from runtime.tape.journal import Journal, as_data
from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import CallKey, WaitState, takes
from runtime.tape.state.session import AgentState

NAP_S = 60.0
"""People see an agent at work in a sleep of up to so many seconds."""

MAX_WAITED_MESSAGES = 100
"""At most this many messages are taken by one wait."""

_FOR_THEMSELVES = frozenset({MessageType.MEETING_INVITATION, MessageType.CHOICE, MessageType.TRIGGER})
"""What is not said with other things: it is for who is asked alone."""

MAX_LOGGED_VALUES = 50


class BuiltinCalls(Struct, eq=False):
    """`variables` are the rules by which variables are set, `events` tells that frames wait."""

    _session: SessionContext
    _pages: SessionPages
    _conduits: SessionConduits
    utterances: SessionUtterances
    variables: VariableRules
    _events: FrameEvents
    ended: ListenerList[None] = field(default_factory=ListenerList[None])
    """Told when the program has ended."""

    @call("Step")
    def step(self, frame: Frame, location: Any) -> Any:
        """Says which step of its playbook a reply has reached."""
        self._session.bus.publish(StepExecuted(*at_work(self._session.journal.session, frame), location))
        return location

    @call("Trigger")
    def trigger(self, frame: Frame, code: Any) -> Any:
        """Says that a trigger holds; its playbook is called next."""
        self._session.bus.publish(TriggerFired(*at_work(self._session.journal.session, frame), code))
        return code

    @call("Var")
    async def var(self, frame: Frame, call: FrameCall, name: VariableName, value: Any) -> None:
        """Sets a variable of the agent; triggers that this makes true run before the call returns."""
        await self.variables.update(frame, call, name, value)

    @call("Now", reads=True)
    def now(self) -> str:
        """Returns the current time, ISO 8601 in UTC."""
        return self._session.clock.now().isoformat()

    @call("Random", reads=True)
    def random(self) -> float:
        """Returns a random number from 0 up to, but not including, 1."""
        return random.random()

    @call("EndProgram")
    async def end_program(self, frame: Frame, call: FrameCall) -> None:
        """Ends the program for everybody in the conversation."""
        self._session.journal.note(CallReturned(*site(frame, call)))
        await self.end()

    async def end(self, *, wanted: bool = False) -> None:
        """End the program: nothing of it runs after this. By default people learn of messages that it did not read."""
        if self._session.journal.state.ended:
            return
        for root in [f.id for f in self._session.journal.state.frames.values() if f.caller is None]:
            await self._pages.close_own(root)
        if not wanted and any(
            message.from_human for agent in self._session.journal.state.agents.values() for message in agent.queue
        ):
            self._pages.tell(self._pages.texts("session.unread"))
        self._session.journal.note(SessionEnded())
        await self._session.journal.commit()
        self.ended.tell(None)

    @contextmanager
    def waiting(self, frame: Frame, wait: WaitState) -> Iterator[None]:
        """Within it a frame waits, and nobody sees its agent at work, except in a short sleep: it answers nobody, and
        people may stop it."""
        self._events.waits(frame, wait)
        naps = wait.name == "Sleep" and (wait.due or 0.0) - self.now_s() <= NAP_S
        presence = self._pages.presence
        with presence.working(frame.state.agent) if naps else presence.waiting(frame.id):
            yield
        self._events.goes_on(frame)

    @call("WaitForMessage")
    def wait_for_message(
        self,
        frame: Frame,
        call: FrameCall,
        source: str,
        timeout_s: Seconds | None = None,
        type: OwnType | None = None,  # noqa: A002
    ) -> Later:
        """Waits for messages from a source; returns a list of them, or None when the time is over.

        With `type` it waits only for messages of that type.
        """
        if CallKey(frame.id, call.pos) in self._session.journal.state.waits:
            return partial(self._wait, frame, call, None, timeout_s)
        meant = self.utterances.call_source(frame, source) | ({} if type is None else {"type": type})
        if self._take(frame, call, meant, timeout_s):
            return None
        return partial(self._wait, frame, call, meant, timeout_s)

    async def _wait(
        self, frame: Frame, call: FrameCall, source: Mapping[str, Any] | None, timeout_s: float | None
    ) -> None:
        if source is not None:
            if self._cued(frame, call, source):
                return
            self._note_wait(frame, call, source, timeout_s)
        self._note_taken(frame, call, await self.receive(frame, call.pos, within_s=timeout_s))
        self._session.journal.hurry()

    def _take(self, frame: Frame, call: FrameCall, source: Mapping[str, Any], timeout_s: float | None) -> bool:
        """Take what is there already, where nothing is to be done before."""
        queue = self._conduits.queue(frame.state.agent)
        if not len(queue) or frame.state.meeting is not None:
            return False
        if any(message.type == MessageType.TRIGGER for message in frame.agent.queue):
            return False
        came = queue.take(lambda message: takes(source, message), max_messages=MAX_WAITED_MESSAGES)
        taken = as_they_are(came, frame.agent)
        if not taken:
            return False
        self._note_wait(frame, call, source, timeout_s)
        self._note_taken(frame, call, taken)
        self._session.journal.hurry()
        return True

    def _note_wait(self, frame: Frame, call: FrameCall, source: Mapping[str, Any], timeout_s: float | None) -> None:
        due = None if timeout_s is None else self.now_s() + timeout_s
        self._session.journal.note(WaitBegun(*site(frame, call), source, due))

    def _note_taken(self, frame: Frame, call: FrameCall, taken: Sequence[Message] | None) -> None:
        values = None if taken is None else [_as_value(message) for message in taken]
        asides = [_as_value(message) for message in frame.agent.asides] if values else []
        if values and asides:
            values[0]["asides"] = asides
        mids = [message.id for message in taken or ()]
        self._session.journal.note(WaitEnded(*site(frame, call), messages=mids, value=values, asides=bool(asides)))

    def _cued(self, frame: Frame, call: FrameCall, source: Mapping[str, Any]) -> bool:
        """Whether this is the host's first wait in its meeting, by which it is asked to begin."""
        meeting = self._session.journal.state.meetings.get(frame.state.meeting or "")
        cue = None if meeting is None or meeting.host != frame.state.agent else meeting.cue
        if meeting is None or cue is None or ("any" not in source and source.get("meeting") != meeting.id):
            return False
        self._session.journal.note(WaitEnded(*site(frame, call), messages=[], value=[_as_value(cue)], cue=meeting.id))
        return True

    def now_s(self) -> float:
        return self._session.clock.now().timestamp()

    @call("Sleep")
    async def sleep(self, frame: Frame, call: FrameCall, seconds: Seconds) -> None:
        """Waits for a number of seconds; a restart does not start the wait again."""
        key = CallKey(frame.id, call.pos)
        if key not in self._session.journal.state.waits:
            self._session.journal.note(WaitBegun(*site(frame, call), None, self.now_s() + seconds))
        await self._session.journal.commit()
        wait = self._session.journal.state.waits[key]
        with self.waiting(frame, wait):
            await until(self._session.clock, wait.due or 0.0, at_most_s=seconds)
        self._session.journal.note(WaitEnded(*site(frame, call), messages=[]))

    async def receive(
        self, frame: Frame, pos: str, *, at_most: int = MAX_WAITED_MESSAGES, within_s: float | None = None
    ) -> list[Message] | None:
        """Wait as the tape says at `pos`, going idle first; None when the time is over.

        That is by the calendar, or `within_s` from now if the calendar is set back. A turn is given with it, in order,
        the notices of its meeting that woke nobody, and when it waits for an agent also what others said meanwhile.
        """
        wait = self._session.journal.state.waits[CallKey(frame.id, pos)]
        with self.waiting(frame, wait):
            return await self._receive(frame, pos, wait, at_most, within_s)

    async def _receive(
        self, frame: Frame, pos: str, wait: WaitState, at_most: int, within_s: float | None
    ) -> list[Message] | None:
        last_s = self._session.clock.monotonic() + (inf if within_s is None else within_s)
        await self._session.journal.commit()
        source, taken = wait.source or {}, list[Message]()
        while not taken:
            clock = self._session.clock
            left_s = None if wait.due is None else max(0.0, min(wait.due - self.now_s(), last_s - clock.monotonic()))
            piece_s = None if left_s is None else min(left_s, LOOK_S)
            try:
                came = await self._conduits.queue(frame.state.agent).get_batch(
                    lambda message: _ends(wait, message, frame.agent), max_messages=at_most, timeout_s=piece_s
                )
            except QueueTimeout:
                if piece_s != left_s:
                    continue
                return None
            if not frame.alive:
                await anyio.sleep_forever()  # stopped while it was handed over: whoever did that cancels us
            if pos == TURN:
                came = await self._with_others(frame, came, at_most, all_of_them="agents" in source)
            taken = await self._without_triggers(frame, pos, as_they_are(came, frame.agent))
        return taken

    async def _without_triggers(self, frame: Frame, pos: str, taken: Sequence[Message]) -> list[Message]:
        """Execute the playbooks whose time has come while the frame continues to wait; return the other messages."""
        rest = [message for message in taken if message.type != MessageType.TRIGGER]
        for message in taken:
            if message.type == MessageType.TRIGGER:
                await self.variables.handlers.due(frame, FrameCall(f"{pos}:{message.id}", message.content))
                self._session.journal.note(MessagesDropped(frame.state.agent, [message.id]))
        return rest

    async def _with_others(
        self, frame: Frame, came: Sequence[Message], at_most: int, *, all_of_them: bool
    ) -> list[Message]:
        """The message that ended the wait and the earlier ones that did not, in the agent's order: quiet notices of the
        frame's meeting, or all messages.
        """

        def goes_along(message: Message) -> bool:
            if message.type in _FOR_THEMSELVES or message.meeting_id not in (None, frame.state.meeting):
                return False
            return all_of_them or message.quiet

        others = self._conduits.queue(frame.state.agent).take(goes_along, max_messages=at_most - len(came))
        places = {message.id: place for place, message in enumerate(frame.agent.queue)}
        return sorted([*came, *others], key=lambda message: places.get(message.id, -1))

    def give_back(self, agent: AgentId, messages: Sequence[Message]) -> None:
        """Put messages that were received, and not taken on the tape, before all others: the next wait has them."""
        for message in reversed(messages):
            self._conduits.queue(agent).put(message, priority=True)

    def forget(self, agent: AgentId, messages: Collection[Message]) -> None:
        """Take messages out of an agent's queue that were shown to its work, on the tape already."""
        taken = {message.id for message in messages}
        self._conduits.queue(agent).remove(lambda message: message.id in taken)


def _ends(wait: WaitState, message: Message, agent: AgentState) -> bool:
    """Whether a wait takes a message; the tape knows which ones are older than a question."""
    source = wait.source or {}  # a question may be asked again meanwhile
    known = as_they_are([message], agent) if "ask" in source else []
    return takes(source, known[0] if known else message)


def as_they_are(messages: Sequence[Message], agent: AgentState) -> list[Message]:
    """The messages that a queue gave, as the tape has them by now: in order, changed, and without what was taken back
    or dropped."""
    given = {message.id for message in messages}
    return [message for message in agent.queue if message.id in given]


def _as_value(message: Message) -> dict[str, Any]:
    data = message_to_data(message)
    return {"sender": data["from"], "name": data.get("name", message.sender_class), "text": message.content, **data}


class LogCalls:
    def __init__(self, journal: Journal, bus: Bus, program: str) -> None:
        self._journal = journal
        self._bus = bus
        self._program = program
        self._lines: list[tuple[int, ProgramLogged]] = []
        """What is on the tape with the fact of this number, and is not written yet."""
        journal.written.subscribe(self._durable)

    @call("Log", example='await Log("text", name=value)', form='Log("sold", pieces=3)', reads=True)
    def log(self, frame: Frame, call: FrameCall, /, text: str, **values: Any) -> None:
        """Writes a line for the person who runs the program; the people here do not see it.

        Parley writes the line as soon as it is on the tape; the code does not wait for that.
        """
        if len(values) > MAX_LOGGED_VALUES:
            raise PlaybookError(f"Log takes at most {MAX_LOGGED_VALUES} values, not {len(values)}")
        try:
            data = as_data(values)
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"a value that Log was given is not data: {error}") from error
        where = (self._journal.session, frame.id, frame.state.agent, frame.agent.klass, frame.state.playbook)
        seq = self._journal.note(CallReturned(*site(frame, call)))
        self._lines.append((seq, ProgramLogged(*where, self._program, text, data)))
        self._journal.hurry()

    def _durable(self, _: None) -> None:
        """Facts are on the tape: a line is written once, or in a crash just now never."""
        while self._lines and self._lines[0][0] <= self._journal.committed:
            self._bus.publish(self._lines.pop(0)[1])
