"""Utterances of agents, to people and to each other: complete, or shown while they are written."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.channels.message_queue import MessageQueue
from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId, ParticipantId, PersonId, new_message_id, new_stream_id, parse_meeting_id
from runtime.core.message import ACK_WITHIN_S, Message, StreamStart
from runtime.core.plain_text import whole_characters
from runtime.events.talk import MessageDelivered, MessageRouted
from runtime.execution.frames.frame import Frame, FrameCall, check_waits
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import Later, OwnType, call
from runtime.execution.speech.delivery import SpeechDelivery, Way
from runtime.execution.speech.live_stream import LiveStream, SpokenText
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.receipts import AckWithin, SpeechReceipts
from runtime.execution.speech.targets import SessionPopulation, SpeechTarget, person_named, resolve_target, wait_source
from runtime.meetings.meeting import check_takes_part, comes_too_late
from runtime.tape.facts.frames import CallReturned
from runtime.tape.facts.meetings import MeetingAddressed
from runtime.tape.facts.people import PageFinished, PageHeld
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import PageState

MAX_SAID_CHARS = 200_000
"""The longest text of one utterance."""

MAX_UNHEARD = 100
"""The number of times that one playbook may speak to a meeting whose end it has not read: if it never waits, it never
reads it."""

NOT_SHOWN = Way()
"""The way of what no person hears."""


class SessionConduits(Protocol):
    def channel(self, agent: AgentId, target: SpeechTarget) -> Channel:
        """The channel by which `agent` reaches `target`, made if need be."""

    def queue(self, agent: AgentId) -> MessageQueue: ...


class SayCall(Struct, frozen=True):
    """A call that says something: to whom, as the program names them, in what time it is to be acknowledged, and its
    message's type if it has one of its own. `goes_on`: its author knows what stands of it, and writes the rest.
    `worded`: a model writes it."""

    frame: Frame
    call: FrameCall
    to: str
    within_s: float | None = None
    type: str | None = None
    goes_on: bool = False
    worded: bool = False


class SessionUtterances(Struct, eq=False):
    _journal: Journal
    _bus: Bus
    _pages: SessionPages
    _conduits: SessionConduits
    _population: SessionPopulation
    delivery: SpeechDelivery
    receipts: SpeechReceipts
    _streams: dict[str, LiveStream] = field(default_factory=dict)
    _turns: dict[tuple[str, str], anyio.Lock] = field(default_factory=dict)

    def target(self, frame: Frame, text: str) -> SpeechTarget:
        """The target that the frame means by `text`. Raises UnknownTarget, also for a meeting that its agent is not
        in."""
        state = self._journal.state
        target = resolve_target(text, state, self._population, meeting=frame.state.meeting)
        if target.meeting is not None:
            check_takes_part(state, state.meetings[target.meeting], frame.state.agent)
        return target

    def source(self, frame: Frame, text: str) -> dict[str, Any]:
        """The meaning of a turn that waits for `text`: a quiet notice does not end the wait. Raises UnknownTarget."""
        source = self.call_source(frame, text)
        return {"notices": False, **source} if "any" in source or "meeting" in source else source

    def call_source(self, frame: Frame, text: str) -> dict[str, Any]:
        """The meaning of a call that waits for `text`. Raises UnknownTarget."""
        state = frame.state
        source = wait_source(text, self._journal.state, self._population, agent=state.agent, meeting=state.meeting)
        hears_anyway = "any" in source or source.get("meeting") == state.meeting
        return source if hears_anyway or state.meeting is None else {**source, "within": state.meeting}

    def person(self, text: str) -> PersonId | None:
        """The id of the person whom programs mean by `text`; None when it means nobody. Raises UnknownTarget for a
        declared human who is not here."""
        return person_named(text, self._journal.state, self._population)

    async def begin_stream(
        self, frame: Frame, target: SpeechTarget, saying: SayCall | None = None
    ) -> LiveStream | None:
        """Start to show an utterance to `target` while it is written; None when nobody would see it grow."""
        channel = self._conduits.channel(frame.state.agent, target)
        await channel.opened()
        way = self.delivery.way(frame, target, None) if _has_people(channel) else NOT_SHOWN
        if not way.piece_chars:
            return None
        page = await self._pages.adopt(frame.id, target.key)
        start = StreamStart(new_stream_id(), channel.id, frame.state.agent, frame.agent.klass, target.recipient)
        await channel.start_stream(start, seen=True)
        words = self._words(saying, target, page)
        return LiveStream(channel, start.stream_id, page, target, words, way.piece_chars, self._pages.grow)

    def _words(self, saying: SayCall | None, target: SpeechTarget, page: PageState | None) -> SpokenText:
        """What becomes of the text that is said on a page."""
        stands = "" if page is None else self._pages.standing(page)
        told = saying is not None and saying.goes_on
        return SpokenText(target.whom(self._journal.state), stands, told=told)

    async def open_stream(self, frame: Frame, target: SpeechTarget) -> LiveStream | None:
        """Begin to show what the frame's next `Say` will say; one to another target, or none at all, ends it."""
        live = await self.begin_stream(frame, target)
        if live is not None:
            self._streams[frame.id] = live
        return live

    async def drop_stream(self, frame_id: str, reason: str) -> None:
        live = self._streams.pop(frame_id, None)
        if live is not None:
            await live.fail(reason)

    @call("Say", form='Say("user", "the text")', sends=True)
    def say(
        self, frame: Frame, call: FrameCall, target: str, message: Any, ack_within_s: AckWithin | None = None
    ) -> Later:
        """Says something to somebody; in Python, `message` may be an async iterable of its pieces.

        With `ack_within_s` it waits until everybody has acknowledged the message, and returns who has.
        """
        return self._begin(SayCall(frame, call, target, ack_within_s), message)

    @call("SendMessage", sends=True)
    def send(self, frame: Frame, call: FrameCall, target: str, message: Any, type: OwnType | None = None) -> Later:  # noqa: A002
        """Says something to somebody as a message of a type that the program defines."""
        return self._begin(SayCall(frame, call, target, type=type), message)

    def _begin(self, saying: SayCall, text: Any) -> Later:
        return None if self._hand(saying, text) else partial(self.speak, saying, text)

    async def speak(self, saying: SayCall, text: Any) -> None:
        """Say something to somebody; the text may be given piece by piece by an async iterable."""
        frame, call, within_s = saying.frame, saying.call, saying.within_s
        if within_s is not None and CallKey(frame.id, call.pos) in self._journal.state.acks:
            await self.receipts.collect(frame, call, within_s)
            return
        if frame.unheard < MAX_UNHEARD and self.comes_too_late(frame, saying.to):
            frame.unheard += 1
            self._journal.note(CallReturned(*site(frame, call)))
            return
        target = self.target(frame, saying.to)
        if saying.type is not None and target.meeting is not None:
            raise PlaybookError(f"what is said to a meeting has no type of its own; send the {saying.type} to an agent")
        await self._pages.room()
        async with self._turn(frame, target):
            if not isinstance(target.recipient, AgentId):
                check_waits(self._journal.state, frame, call)
            if isinstance(text, AsyncIterable):
                said = await self._say_written(saying, target, text)
            else:
                text = _sayable(whole_characters(str(text)))
                said = await self._finish_say(saying, target, text, await self._begun(frame, target))
        if within_s is not None and said:
            await self.receipts.collect(frame, call, within_s)

    def _hand(self, saying: SayCall, text: Any) -> bool:
        """`speak` to one other agent, which takes it without being waited for, and where nobody sees it."""
        frame = saying.frame
        if not isinstance(text, str) or saying.within_s is not None or self._pages.crowded:
            return False
        if frame.id in self._streams or not text.strip() or self.comes_too_late(frame, saying.to):
            return False
        target = self.target(frame, saying.to)
        channel = self._conduits.channel(frame.state.agent, target)
        hearer = None if target.recipient is None else channel.participant(target.recipient)
        if hearer is None or (frame.id, target.key) in self._turns or _has_people(channel):
            return False
        if channel.is_opening or self._are_walked(frame, hearer.id):
            return False
        message = self._message(saying, target, _sayable(whole_characters(text)), None)
        self._tell_routed(saying, channel, message.content)
        by = frame.state
        channel.hand(message, hearer)  # first: an agent that cannot take it makes the call fail
        self._note_said(saying, message, channel, target, None)
        self._tell_delivered(by.agent, by.playbook, message)
        self._journal.hurry()
        return True

    def _are_walked(self, frame: Frame, hearer: ParticipantId) -> bool:
        """Whether the runtime walks the speaker's steps or the hearer's, which hear in turn with what they wait for."""
        frames = self._journal.state.frames.values()
        return frame.state.step is not None or any(one.step is not None for one in frames if one.agent == hearer)

    def comes_too_late(self, frame: Frame, target: str) -> bool:
        """Whether words are for a meeting whose end the frame's agent has not read yet: then nobody hears them."""
        first = target.partition(",")[0].strip().lower()
        number = frame.state.meeting if first == "meeting" else parse_meeting_id(first)
        meeting = self._journal.state.meetings.get(number or "")
        return meeting is not None and comes_too_late(self._journal.state, meeting, frame.state.agent)

    @asynccontextmanager
    async def _turn(self, frame: Frame, target: SpeechTarget) -> AsyncIterator[None]:
        """One after another: a frame has one open page per target."""
        key = (frame.id, target.key)
        turn = self._turns.setdefault(key, anyio.Lock())
        try:
            async with turn:
                yield
        finally:
            if not turn.locked():
                self._turns.pop(key, None)

    async def _say_written(self, saying: SayCall, target: SpeechTarget, pieces: AsyncIterable[str]) -> bool:
        live = await self.begin_stream(saying.frame, target, saying)
        text = ""
        try:
            async for written in pieces if live is None or saying.worded else live.read(pieces):
                text = _sayable(text + whole_characters(written))
                if live is not None:
                    await live.come_to(text)
        except BaseException:
            if live is not None:
                with anyio.CancelScope(shield=True):  # a stream completes, also when its call is cancelled
                    await live.fail("the text broke off")
            raise
        return await self._finish_say(saying, target, text, live)

    async def _begun(self, frame: Frame, target: SpeechTarget) -> LiveStream | None:
        """The stream in which this utterance was shown while it was written."""
        live = self._streams.pop(frame.id, None)
        if live is not None and live.target != target:
            await live.fail("another target was spoken to")
            return None
        return live

    async def _finish_say(self, saying: SayCall, target: SpeechTarget, text: str, live: LiveStream | None) -> bool:
        """Bring a text to whom it is for; False when there is none: then nobody hears anything, or sees a page."""
        frame, call = saying.frame, saying.call
        words = live.words if live is not None else self._words(saying, target, self._pages.begun(frame.id, target.key))
        text = words.whole(text) if text.strip() or words.told else ""
        if not text.strip():
            if live is not None:
                await live.fail("nothing was said")
            value: Any = None if saying.within_s is None else {"acknowledged": [], "missing": []}
            self._journal.note(CallReturned(*site(frame, call), value=value))
            return False
        channel = self._conduits.channel(frame.state.agent, target)
        await channel.opened()
        way = self.delivery.way(frame, target, text) if _has_people(channel) else NOT_SHOWN
        self._tell_routed(saying, channel, text)
        await self.delivery.hand_over(frame, call, way, target, text)
        page = await self._page(frame, target, way, live)
        message, by = self._message(saying, target, text, live), frame.state
        if page is None:
            await channel.send(message)  # first: an agent that cannot take it makes the call fail
            self._note_said(saying, message, channel, target, None)
        else:
            known: PageFinished | PageHeld = PageFinished(page.id, message.content)
            if live is None and way.hold_s is not None:
                known = PageHeld(page.id, message.content, self.delivery.until(page, way.hold_s))
            self._note_said(saying, message, channel, target, known)
            if isinstance(known, PageFinished):
                self._pages.show(page)
            await (channel.send(message) if live is None else live.end(message))
        if target.meeting is not None:
            self._journal.note(MeetingAddressed(target.meeting, message))
        await self._journal.commit()
        self._tell_delivered(by.agent, by.playbook, message)
        return True

    def _tell_delivered(self, agent: AgentId, playbook: str, message: Message) -> None:
        """Says so to who watches; the frame that spoke may have ended."""
        where = (self._journal.session, agent, playbook)
        self._bus.publish(MessageDelivered(*where, message.id, len(message.content)))

    def _tell_routed(self, saying: SayCall, channel: Channel, text: str) -> None:
        where = (self._journal.session, saying.frame.id, channel.id, saying.frame.state.agent)
        self._bus.publish(MessageRouted(*where, saying.to, len(text)))

    def _note_said(
        self,
        saying: SayCall,
        message: Message,
        channel: Channel,
        target: SpeechTarget,
        shown: PageFinished | PageHeld | None,
    ) -> None:
        """The call's result, or that it waits for acknowledgements; `shown` is what a fact says of the page, if any."""
        frame, call = saying.frame, saying.call
        frame_id, pos, name, digest = site(frame, call)
        if not message.ack_required and shown is not None:
            self._journal.note(replace(shown, frame=frame_id, pos=pos, name=name, digest=digest, to=target.key))
        elif not message.ack_required:
            text = None if frame.state.at is None else message.content
            self._journal.note(CallReturned(frame_id, pos, name, digest, to=target.key, text=text))
        else:
            if shown is not None:
                self._journal.note(shown)
            hearers = [hearer.id for hearer in channel.hearers(message)]
            who = [hearer for hearer in hearers if shown is not None or not isinstance(hearer, PersonId)]
            page = None if shown is None else shown.page
            self.receipts.ask(frame, call, message, who, page=page, to=target.key)

    async def _page(self, frame: Frame, target: SpeechTarget, way: Way, live: LiveStream | None) -> PageState | None:
        if live is not None and live.page.status == "open":
            return live.page  # a text ends where it began, also when its meeting has ended meanwhile
        if live is None and way.hold_s is not None:
            return await self.delivery.held_page(frame, target)
        return await self._pages.adopt(frame.id, target.key) if way.shown or live is not None else None

    def _message(self, saying: SayCall, target: SpeechTarget, text: str, live: LiveStream | None) -> Message:
        state, sender, within_s = self._journal.state, saying.frame.agent, saying.within_s
        message = target.message(state, sender, text, new_message_id(), self._bus.clock.now())
        return replace(
            message,
            type=saying.type or message.type,
            stream_id=live.stream if live is not None else None,
            ack_required=within_s is not None,
            ack_within_s=within_s or ACK_WITHIN_S,
        )


def _has_people(channel: Channel) -> bool:
    return any(isinstance(participant.id, PersonId) for participant in channel.participants)


def _sayable(text: str) -> str:
    """The text of one utterance. Raises PlaybookError when it is too long."""
    if len(text) > MAX_SAID_CHARS:
        raise PlaybookError(f"Say takes at most {MAX_SAID_CHARS:,} characters; send more as a file")
    return text
