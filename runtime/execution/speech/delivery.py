"""Delivery of agents' messages to people, in the way that the program says for each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio
from msgspec import Struct

from runtime.core.errors import StorageError, UnknownTarget
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Attachment
from runtime.execution.frames.frame import ExecutablePlaybook, Frame, FrameCall
from runtime.execution.frames.outcomes import result_of
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.execution.speech.targets import SessionPopulation, SpeechTarget, human_of
from runtime.language.program import AgentKind
from runtime.language.syntax.humans import ANYBODY, HumanSpec
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameParked, FrameReturned, QuestionAsked, WaitBegun
from runtime.tape.facts.people import MessageHeard, PageBegun, PageFinished, PageHeld
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentStopped, SessionEnded
from runtime.tape.state.people import NUMBERED, PageState

_WORD = r"(?<!\w){}(?!\w)"


class Way(Struct, frozen=True):
    """The way of one utterance. `piece_chars`: it is shown while it is written, in pieces of at least this many
    characters.

    `hold_s`: it is held back for at most this time, for what follows. Neither: it is not shown in the chat.
    """

    piece_chars: int = 0
    hold_s: float | None = None
    handlers: tuple[tuple[PersonId, HumanSpec], ...] = ()

    @property
    def shown(self) -> bool:
        return bool(self.piece_chars) or self.hold_s is not None


class SpeechDelivery:
    """Applies the preferences of the people of one session.

    Several people who share a conversation see what at least one of them wants to see: as it is written if one wants
    that, in the smallest pieces that one wants, else together when the shortest of their times is over. Handlers are
    given what those want whose they are, besides.
    """

    def __init__(self, session: SessionContext, pages: SessionPages, population: SessionPopulation) -> None:
        self._program = session.program
        self._journal = session.journal
        self._pages = pages
        self._population = population
        self._clock = session.clock
        self._timers: dict[str, anyio.CancelScope] = {}

    def way(self, frame: Frame, target: SpeechTarget, text: str | None) -> Way:
        """The way of what `frame` says; `text` is None while it is being written."""
        hearers = self._wanting(target, text)
        handled = () if self._is_handling(frame.id) else tuple(h for h in hearers if h[1].delivery.channel == "custom")
        return self._way(hearers, handled)

    def show(self, agent: AgentId, target: SpeechTarget, text: str) -> PageState | None:
        """Have people see, as they want it, what an agent says without a frame: it is played in another process.

        No handler is given it: those who have one see it in the chat. None when they see it later, or not at all.
        """
        way = self._way(self._wanting(target, text), ())
        if not way.shown:
            return None
        held = next((page for page in self._held() if (page.agent, page.to) == (agent, target.key)), None)
        page = held or self._pages.said_by(agent, target.key)
        if way.hold_s is None and held is None:
            self._journal.note(PageFinished(page.id, text))
            return page
        self._journal.note(PageHeld(page.id, text, self.until(page, way.hold_s or 0.0)))
        if way.hold_s is None:
            self._release(agent)
        return None

    def _wanting(self, target: SpeechTarget, text: str | None) -> list[tuple[PersonId, HumanSpec]]:
        return [(who, spec) for who, spec in self._hearers(target) if self._wants(who, spec, target, text)]

    def _way(
        self, hearers: Sequence[tuple[PersonId, HumanSpec]], handled: tuple[tuple[PersonId, HumanSpec], ...]
    ) -> Way:
        kinds = [spec.delivery for who, spec in hearers if (who, spec) not in handled]
        pieces = [kind.streaming_chunk_size for kind in kinds if kind.channel != "buffered"]
        holds = [kind.buffer_timeout_s for kind in kinds if kind.channel == "buffered"]
        return Way(min(pieces, default=0), None, handled) if pieces or not holds else Way(0, min(holds), handled)

    def _hearers(self, target: SpeechTarget) -> list[tuple[PersonId, HumanSpec]]:
        state = self._journal.state
        meeting = state.meetings.get(str(target.meeting))
        who = [target.person] if target.person is not None else (meeting.people if meeting else []) or [*state.people]
        return [(person, human_of(person, state, self._population.humans)) for person in who] or [
            (PersonId(""), ANYBODY)
        ]

    def _wants(self, person: PersonId, spec: HumanSpec, target: SpeechTarget, text: str | None) -> bool:
        wanted = spec.delivery.meeting_notifications
        if target.meeting is None or wanted == "all":
            return True
        if wanted == "none":
            return False
        known = self._journal.state.people[person]
        names = {known.name, spec.name, spec.declared}
        named = "|".join(re.escape(name) for name in names)
        return person in target.agents or re.search(_WORD.format(f"(?:{named})"), text or "", re.IGNORECASE) is not None

    def _is_handling(self, frame: str) -> bool:
        """Whether a playbook that got a message is working: what it says itself is for the chat."""
        state = self._journal.state
        return any(one.caller is not None and one.caller.delivers for one in state.stack(state.frames.get(frame)))

    async def hand_over(self, frame: Frame, call: FrameCall, way: Way, target: SpeechTarget, text: str) -> None:
        for index, (person, spec) in enumerate(way.handlers):
            message = {
                "text": text,
                "sender": f"agent {frame.state.agent}",
                "name": frame.agent.klass,
                "to": spec.declared,
                "person": person,
                "meeting": target.meeting,
            }
            handed = FrameCall(f"{call.pos}:d{index}", spec.delivery.handler or "", (message,))
            if handed.pos not in frame.state.records:  # once, also after a crash
                await frame.host.run_child(frame, handed, *self._handler(frame, handed.name), hidden=True)
            if handed.pos in frame.state.records:
                result_of(frame.state.records[handed.pos])

    def _handler(self, frame: Frame, handler: str) -> tuple[AgentId, ExecutablePlaybook]:
        """The playbook and the agent that has it, made if need be: the one that speaks, before all others."""
        owner, _, name = handler.rpartition(".")
        agents = [spec for spec in self._program.agents if spec.kind is AgentKind.AI and owner in ("", spec.name)]
        mine = frame.agent.klass
        for spec in sorted(agents, key=lambda spec: spec.name != mine):
            if spec.playbook(name) is not None:
                found = frame.host.find(
                    frame.state.agent if spec.name == mine else self._population.ensure(spec.name), name
                )
                if found is not None:
                    return found
        raise UnknownTarget(f"the delivery handler {handler} is no longer in the program")

    # -- what is held back

    async def held_page(self, frame: Frame, target: SpeechTarget) -> PageState:
        """The page on which the agent's utterance to `target` is held, with what was held before it."""
        agent, key = frame.state.agent, target.key
        held = (p for p in self._held() if p.agent == agent and p.to == key)
        return next(held, None) or await self._pages.adopt(frame.id, key)

    def until(self, page: PageState, hold_s: float) -> float:
        """The time when a page that is held from now on is shown, in seconds since the epoch."""
        if page.status == "held":
            return page.due or 0.0
        self._pages.tasks.start_soon(self._expire, page.id, hold_s)
        return self._clock.now().timestamp() + hold_s

    async def _expire(self, page: str, hold_s: float) -> None:
        with anyio.CancelScope() as self._timers[page]:
            await self._clock.sleep_until(self._clock.monotonic() + hold_s)
        self._timers.pop(page, None)
        held = self._journal.state.pages.get(page)
        if held is not None and held.status == "held":
            try:
                self._pages.release(held)
            except StorageError:
                return  # the session is gone; the next one shows it

    @hears(MessageHeard, SessionEnded, PageBegun, AgentStopped, WaitBegun, FrameParked, QuestionAsked, FrameReturned)
    def noted(self, fact: FactContent) -> None:
        """Follow the facts: held pages are shown when a person writes, or when their speaker waits, asks, sends a file
        or ends.
        """
        match fact:
            case MessageHeard() | SessionEnded():
                self._release(None)
            case PageBegun(file=Attachment()) | AgentStopped():
                self._release(fact.agent)
            case WaitBegun(source=None):
                pass
            case WaitBegun() | FrameParked() | QuestionAsked():
                self._release(self._journal.state.frames[fact.frame].agent)
            case FrameReturned() if ":" not in fact.frame:
                self._release(fact.frame.partition(".")[0])

    def _release(self, agent: str | None) -> None:
        for page in self._held():
            if agent in (None, page.agent):
                self._pages.release(page)
                if page.id in self._timers:
                    self._timers.pop(page.id).cancel()

    def _held(self) -> list[PageState]:
        return [page for page in self._journal.state.pages.values() if page.status == "held"]


def addressed(text: str, name: str | None) -> str:
    """The text as it is said to one of several people: it begins with `@name`, unless it does so already. A name
    without the number that tells two people apart gets it."""
    if name is None or _begins_with(text, f"@{name}"):
        return text
    bare = f"@{NUMBERED.sub('', name)}"
    return f"@{name}{text[len(bare) :]}" if _begins_with(text, bare) else f"@{name} {text}"


def surely_addressed(text: str, name: str | None) -> str:
    """The sure beginning of `addressed` for a text that is still being written."""
    tag = f"@{name}".casefold()
    undecided = name is not None and len(text) <= len(tag) and tag.startswith(text.casefold())
    return "" if undecided else addressed(text, name)


def untagged(text: str, name: str | None) -> tuple[str, str]:
    tag = f"@{name}"
    count = 0 if name is None or not _begins_with(text, tag) else len(tag) + (text[len(tag) :][:1] == " ")
    return text[:count], text[count:]


def _begins_with(text: str, tag: str) -> bool:
    rest = text[len(tag) : len(tag) + 1]
    return text[: len(tag)].casefold() == tag.casefold() and not (rest.isalnum() or rest == "_")
