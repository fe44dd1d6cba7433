"""The host calls that every playbook has: speaking, waiting, variables, time and chance."""

from __future__ import annotations

import random
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol

import anyio

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError, QueueTimeout
from runtime.core.ids import AgentId, ParticipantId, StreamId, new_message_id, new_stream_id
from runtime.core.message import HUMAN_CLASS, Message, MessageType, message_to_data
from runtime.core.stream import StreamStart
from runtime.execution.frame import Call, Frame
from runtime.execution.host import Builtin, site
from runtime.execution.speech import Pages
from runtime.execution.targets import Population, Target, resolve_target, wait_source
from runtime.tape.fold import call_key
from runtime.tape.journal import Journal
from runtime.tape.state import AgentState, PageState, takes

MAX_WAITED_MESSAGES = 100
"""At most this many messages are taken by one wait."""

SIGNATURES: dict[str, tuple[int, tuple[str, ...]]] = {
    "Step": (1, ("location",)),
    "Trigger": (1, ("code",)),
    "Say": (2, ("target", "message")),
    "Ask": (1, ("question", "options", "of")),
    "Var": (2, ("name", "value")),
    "Artifact": (3, ("name", "summary", "value")),
    "WaitForMessage": (1, ("source", "timeout_s")),
    "Sleep": (1, ("seconds",)),
    "Now": (0, ()),
    "Random": (0, ()),
    "ReadFile": (1, ("name", "max_chars")),
    "SendFile": (2, ("name", "content", "text")),
    "EndProgram": (0, ()),
    "EndMeeting": (0, ("meeting",)),
    "LeaveMeeting": (0, ("meeting",)),
    "Yld": (1, ("source",)),
    "Return": (0, ("value",)),
}
"""How many arguments each call needs, and the names of all it takes, in order."""


class Conduits(Protocol):
    """The channels and queues of a session."""

    def channel(self, agent: str, target: Target) -> Channel:
        """The channel by which `agent` reaches `target`, made if need be."""
        ...

    def queue(self, agent: str) -> MessageQueue: ...


class LiveStream:
    """An utterance in progress: `Say` whose text is still being written."""

    def __init__(self, channel: Channel, stream: StreamId, target: Target) -> None:
        self.channel = channel
        self.stream = stream
        self.target = target
        self.text = ""

    async def write(self, text: str) -> None:
        """Show the next piece."""
        self.text += text
        await self.channel.stream_chunk(self.stream, text)

    async def fail(self, reason: str) -> None:
        """End the stream without a message; its page stays open for the frame's next utterance."""
        await self.channel.complete_stream(self.stream, None, error=reason)


class Builtins:
    """The built-in calls of one session. Each notes its own result."""

    def __init__(
        self,
        journal: Journal,
        pages: Pages,
        conduits: Conduits,
        population: Population,
        clock: Clock,
        bus: Bus,
    ) -> None:
        self._journal = journal
        self._pages = pages
        self._conduits = conduits
        self._population = population
        self._clock = clock
        self._bus = bus
        self._streams: dict[str, LiveStream] = {}
        self._turns: dict[tuple[str, str], anyio.Lock] = {}  # a frame has one open page per target
        self.ended = anyio.Event()
        """Set when the program has ended."""
        self.on_variable: Callable[[Frame, Call, str, Any], Awaitable[bool]] | None = None
        """Asked first when a variable is set; True when it has seen to it."""

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {
            "Step": self.step,
            "Trigger": self.trigger,
            "Say": self.say,
            "Var": self.var,
            "Artifact": self.artifact,
            "WaitForMessage": self.wait_for_message,
            "Sleep": self.sleep,
            "Now": self.now,
            "Random": self.random,
            "EndProgram": self.end_program,
        }

    def target(self, frame: Frame, text: str) -> Target:
        """Whom the frame means by `text`. Raises UnknownTarget."""
        return resolve_target(text, self._journal.state, self._population, meeting=frame.state.meeting)

    def source(self, frame: Frame, text: str) -> Any:
        """What the frame means by waiting for `text`. Raises UnknownTarget."""
        state = frame.state
        return wait_source(text, self._journal.state, self._population, agent=state.agent, meeting=state.meeting)

    async def step(self, frame: Frame, call: Call) -> None:
        """The frame goes to a step."""
        (location,) = call_arguments(call, "location")
        self._journal.note("res", **site(frame, call), val=location)
        self._publish("step.executed", frame, step=location)

    async def trigger(self, frame: Frame, call: Call) -> None:
        """A trigger was found to hold; its playbook is called next."""
        (code,) = call_arguments(call, "code")
        self._journal.note("res", **site(frame, call), val=code)
        self._publish("trigger.fired", frame, trigger=code)

    async def var(self, frame: Frame, call: Call) -> None:
        """Set a variable of the agent; triggers that it makes true run before the call returns."""
        name, value = call_arguments(call, "name", "value")
        name = str(name).removeprefix("$")
        if self.on_variable is not None and await self.on_variable(frame, call, name, value):
            return
        self._journal.note("res", **site(frame, call), val=value, set={name: value})

    async def artifact(self, frame: Frame, call: Call) -> None:
        """Keep a large value under a name."""
        name, _, value = call_arguments(call, "name", "summary", "value")
        self._journal.note("res", **site(frame, call), val=None, set={str(name).removeprefix("$"): value})

    async def now(self, frame: Frame, call: Call) -> None:
        """The present time, ISO 8601 in UTC."""
        self._journal.note("res", **site(frame, call), val=self._clock.now().isoformat())

    async def random(self, frame: Frame, call: Call) -> None:
        """A random number in [0, 1)."""
        self._journal.note("res", **site(frame, call), val=random.random())

    async def end_program(self, frame: Frame, call: Call) -> None:
        """End the session."""
        self._journal.note("res", **site(frame, call), val=None)
        await self.end()

    async def end(self, *, wanted: bool = False) -> None:
        """The program ends: nothing of it runs any more. Unless they want it so, people hear what it did not read."""
        if self._journal.state.ended:
            return
        for root in [f.id for f in self._journal.state.frames.values() if f.caller is None]:
            await self._pages.close_own(root)
        if not wanted and any(
            message.from_human for agent in self._journal.state.agents.values() for message in agent.queue
        ):
            self._pages.tell(self._pages.texts("session.unread"))
        self._journal.note("ended")
        await self._journal.commit()
        self.ended.set()

    async def notice(self, frame: Frame, text: str) -> None:
        """Tell the people of the conversation something that the program did not say."""
        page = await self._pages.adopt(frame.id, "notice")
        self._journal.note("fin", page=page.id, text=text)
        self._pages.show(page)

    async def wait_for_message(self, frame: Frame, call: Call) -> None:
        """Wait for messages of a source; the result is a list of them as data, None when the time is over."""
        source_text, timeout_s = call_arguments(call, "source", "timeout_s", optional=1)
        key = call_key(frame.id, call.pos)
        if key not in self._journal.state.waits:
            due = None if timeout_s is None else self._clock.now().timestamp() + float(timeout_s)
            source = self.source(frame, str(source_text))
            self._journal.note("wait", **site(frame, call), source=source, due=due)
        taken = await self.receive(frame, call.pos)
        values = None if taken is None else [_as_value(message) for message in taken]
        asides = [_as_value(message) for message in frame.agent.asides] if values else []
        if values and asides:
            values[0]["asides"] = asides
        mids = [message.id for message in taken or ()]
        self._journal.note("took", **site(frame, call), mids=mids, val=values, asides=bool(asides))
        await self._journal.commit()

    async def sleep(self, frame: Frame, call: Call) -> None:
        """Wait for a time; a restart does not begin it anew."""
        (seconds,) = call_arguments(call, "seconds")
        key = call_key(frame.id, call.pos)
        if key not in self._journal.state.waits:
            due = self._clock.now().timestamp() + float(seconds)
            self._journal.note("wait", **site(frame, call), source=None, due=due)
        await self._journal.commit()
        due_at = self._journal.state.waits[key].due or 0.0
        with self._pages.presence.waiting(frame.id):
            await self._clock.sleep_until(self._clock.monotonic() + due_at - self._clock.now().timestamp())
        self._journal.note("took", **site(frame, call), mids=[], val=None)

    async def receive(self, frame: Frame, pos: str, *, at_most: int = MAX_WAITED_MESSAGES) -> list[Message] | None:
        """Wait as the tape says at `pos`, going idle first; None when the time is over."""
        with self._pages.presence.waiting(frame.id):
            return await self._receive(frame, pos, at_most)

    async def _receive(self, frame: Frame, pos: str, at_most: int) -> list[Message] | None:
        wait = self._journal.state.waits[call_key(frame.id, pos)]
        await self._journal.commit()
        source, taken = wait.source or {}, list[Message]()
        while not taken:
            left_s = None if wait.due is None else max(0.0, wait.due - self._clock.now().timestamp())
            try:
                came = await self._conduits.queue(frame.state.agent).get_batch(
                    lambda message: takes(source, message),
                    min_messages=1,
                    max_messages=at_most,
                    timeout_s=left_s,
                )
            except QueueTimeout:
                return None
            if not frame.alive:
                await anyio.sleep_forever()  # stopped while it was handed over: whoever did that cancels us
            taken = as_they_are(came, frame.agent)
        return taken

    def forget(self, agent: str, messages: Collection[Message]) -> None:
        """Take messages out of an agent's queue that were shown to its work, on the tape already."""
        taken = {message.id for message in messages}
        self._conduits.queue(agent).remove(lambda message: message.id in taken)

    async def begin_stream(self, frame: Frame, target: Target) -> LiveStream | None:
        """Start to show an utterance to `target` while it is written; None when nobody would see it grow."""
        channel = self._conduits.channel(frame.state.agent, target)
        page = await self._page(frame, channel, target)
        if page is None:
            return None
        start = StreamStart(new_stream_id(), channel.id, self._me(frame), frame.agent.klass, target.recipient)
        self._pages.expect_stream(start.stream_id, page)
        if not await channel.start_stream(start):
            return None
        return LiveStream(channel, start.stream_id, target)

    async def open_stream(self, frame: Frame, target: Target) -> LiveStream | None:
        """Begin to show what the frame's next `Say` will say; one to another target, or none at all, ends it."""
        live = await self.begin_stream(frame, target)
        if live is not None:
            self._streams[frame.id] = live
        return live

    async def drop_stream(self, frame_id: str, reason: str) -> None:
        """End the frame's stream, if it has one, without a message."""
        live = self._streams.pop(frame_id, None)
        if live is not None:
            await live.fail(reason)

    async def say(self, frame: Frame, call: Call) -> None:
        """Say something to somebody; the text may be given piece by piece by an async iterable."""
        target_text, text = call_arguments(call, "target", "message")
        target = self.target(frame, str(target_text))
        await self._pages.room()
        key = (frame.id, target.key)
        turn = self._turns.setdefault(key, anyio.Lock())
        async with turn:
            if isinstance(text, AsyncIterable):
                await self._say_written(frame, call, target, text)
            else:
                await self._finish_say(frame, call, target, str(text), await self._begun(frame, target))
        if not turn.locked():
            self._turns.pop(key, None)

    async def _say_written(self, frame: Frame, call: Call, target: Target, pieces: AsyncIterable[str]) -> None:
        live = await self.begin_stream(frame, target)
        text = ""
        try:
            async for piece in pieces:
                text += piece
                if live is not None:
                    await live.write(piece)
        except BaseException:
            if live is not None:
                with anyio.CancelScope(shield=True):  # a stream completes, also when its call is cancelled
                    await live.fail("the text broke off")
            raise
        await self._finish_say(frame, call, target, text, live)

    async def _begun(self, frame: Frame, target: Target) -> LiveStream | None:
        """The stream in which this utterance was shown while it was written."""
        live = self._streams.pop(frame.id, None)
        if live is not None and live.target != target:
            await live.fail("another target was spoken to")
            return None
        return live

    async def _finish_say(self, frame: Frame, call: Call, target: Target, text: str, live: LiveStream | None) -> None:
        channel = self._conduits.channel(frame.state.agent, target)
        page = await self._page(frame, channel, target)
        message = self._message(frame, target, text, live)
        if page is None:
            await channel.send(message)  # first: an agent that cannot take it makes the call fail
            self._journal.note("res", **site(frame, call), val=None, to=target.key)
        else:
            self._journal.note("fin", page=page.id, text=text, **site(frame, call), val=None, to=target.key)
            self._pages.expect_message(message.id, page)
            if live is not None:
                await live.channel.complete_stream(live.stream, message)
            else:
                await channel.send(message)
        await self._journal.commit()
        self._publish("message.delivered", frame, message_id=message.id, chars=len(text))

    async def _page(self, frame: Frame, channel: Channel, target: Target) -> PageState | None:
        if not any(not str(participant.id).isdecimal() for participant in channel.participants):
            return None
        return await self._pages.adopt(frame.id, target.key)

    def _message(self, frame: Frame, target: Target, text: str, live: LiveStream | None) -> Message:
        kind = MessageType.DIRECT if target.meeting is None else MessageType.MEETING_BROADCAST
        state = self._journal.state
        klass = None
        if target.recipient is not None:
            other = state.agents.get(str(target.recipient))
            klass = other.klass if other else HUMAN_CLASS
        return Message(
            id=new_message_id(),
            sender_id=self._me(frame),
            sender_class=frame.agent.klass,
            content=text,
            created_at=self._clock.now(),
            recipient_id=target.recipient,
            recipient_class=klass,
            type=kind,
            meeting_id=target.meeting,
            target_agent_ids=target.agents,
            stream_id=live.stream if live is not None else None,
        )

    @staticmethod
    def _me(frame: Frame) -> ParticipantId:
        return AgentId(frame.state.agent)

    def _publish(self, name: str, frame: Frame, **data: Any) -> None:
        self._bus.publish(
            name, session_id=self._journal.session, agent_id=frame.state.agent, playbook=frame.state.playbook, **data
        )


def as_they_are(messages: Sequence[Message], agent: AgentState) -> list[Message]:
    """What a queue gave, as the tape has it by now: changed, and without what was taken back or dropped."""
    current = {message.id: message for message in agent.queue}
    return [current[message.id] for message in messages if message.id in current]


def _as_value(message: Message) -> dict[str, Any]:
    data = message_to_data(message)
    return {"sender": data["from"], "name": data.get("name", message.sender_class), "text": message.content, **data}


def call_arguments(call: Call, *names: str, optional: int = 0) -> list[Any]:
    """The values of a call's parameters in order, None for optional ones that are missing. Raises PlaybookError."""
    if len(call.args) > len(names):
        raise PlaybookError(f"{call.name} takes {', '.join(names)}; it was given {len(call.args)} arguments")
    given = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
    unknown = sorted(set(given) - set(names))
    required = names[: len(names) - optional]
    missing = [name for name in required if name not in given]
    if unknown or missing:
        what = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
        raise PlaybookError(f"{call.name} {what}; it takes {', '.join(names)}")
    return [given.get(name) for name in names]
