"""The presence of working agents: that they work, and on what, before they say anything, and its indicators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from msgspec.structs import replace

from runtime.channels.outbox import Outbox
from runtime.core.address import Address, Speaker
from runtime.core.errors import StorageError
from runtime.core.ids import AgentId
from runtime.core.message import Choice, Mark
from runtime.core.page import PageSpec
from runtime.meetings.meeting import place_of_work
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import QuestionAsked
from runtime.tape.facts.people import MarkPlaced, MarkWanted, PageShown, QuestionClosed, QuestionSettled
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import ClosedQuestion, QuestionState

SpecOf = Callable[[str, str, Mapping[int, str], str | None, Address | None], PageSpec]
"""A page's spec from its id, its agent, its parts, what it answers, and its place."""


class AgentPresence:
    """The agents of one session. An agent works while a frame of it runs that waits for nobody and does not sleep
    for long."""

    def __init__(self, journal: Journal, outbox: Outbox, address: Address) -> None:
        self._journal = journal
        self._outbox = outbox
        self._address = address
        self._work: dict[AgentId, list[str | None]] = {}
        self._shown_at: dict[AgentId, Address] = {}
        self._waits: Counter[AgentId] = Counter()
        self._standing: set[CallKey] = set()

    def restore(self) -> None:
        """Whoever waited when the session left memory does so still, on the way back to where it waits."""
        self._standing = set(self._journal.state.waits)

    @contextmanager
    def working(self, agent: AgentId, doing: str | None = None) -> Iterator[None]:
        """The agent works, on what `doing` says, unless something within says more."""
        stack = self._work.setdefault(agent, [])
        stack.append(doing)
        self._show(agent)
        try:
            yield
        finally:
            stack.remove(doing)
            self._show(agent)

    @contextmanager
    def waiting(self, frame: str) -> Iterator[None]:
        """The frame waits, and so do those that called it."""
        agents = self._agents_of(frame)
        self._standing = {key for key in self._standing if key.frame != frame}
        for agent in agents:
            self._waits[agent] += 1
            self._show(agent)
        try:
            yield
        finally:
            for agent in agents:
                self._waits[agent] -= 1
                self._show(agent)

    @contextmanager
    def attending(self, place: Address | None) -> Iterator[None]:
        """What somebody sent is being read or written down: it shows where it was sent."""
        at, speaker = place or self._address, Speaker("", "Parley")
        self._outbox.thinking(at, speaker, True)
        try:
            yield
        finally:
            self._outbox.thinking(at, speaker, False)

    def _agents_of(self, frame: str) -> set[AgentId]:
        frames, parts = self._journal.state.frames, frame.split(":")
        callers = (":".join(parts[:count]) for count in range(1, len(parts) + 1))
        return {frames[caller].agent for caller in callers if caller in frames}

    def _show(self, agent: AgentId) -> None:
        known = self._journal.state.agents.get(agent)
        stack = self._work.get(agent, [])
        self._standing &= self._journal.state.waits.keys()
        comes_back = any(agent in self._agents_of(key.frame) for key in self._standing)
        active = bool(stack) and not self._waits[agent] and not comes_back
        doing = next((doing for doing in reversed(stack) if doing), None) if active else None
        speaker = Speaker(agent, known.klass if known else "Parley")
        place = place_of_work(self._journal.state, agent) or self._address
        shown_at = self._shown_at.pop(agent, place)
        if not active:
            self._outbox.thinking(shown_at, speaker, False)
            return
        if shown_at != place:
            self._outbox.thinking(shown_at, speaker, False)
        self._shown_at[agent] = place
        shown = None if self._journal.state.has_guests else doing
        self._outbox.thinking(place, speaker, True, doing=shown)


class Indicators:
    """The marks and the closed questions of one session: on the tape until the platform shows them as they should be.

    `marking` is noted when a mark is wanted and `marked` when it is there; "queued" stays on the tape until another
    takes its place. `closed` is noted when a question's choices have to go and `settled` when they are gone. What was
    not seen to be there is asked for again after a restart.
    """

    def __init__(
        self, journal: Journal, outbox: Outbox, address: Address, spec_of: SpecOf, on_rest: Callable[[], None]
    ) -> None:
        """`on_rest` is called when nothing is on its way."""
        self._journal = journal
        self._outbox = outbox
        self._address = address
        self._spec_of = spec_of
        self._open: dict[CallKey, tuple[QuestionState, str]] = {}
        self._chosen: dict[str, str] = {}
        self._settling: set[str] = set()
        self.under_way = 0
        self._on_rest = on_rest

    def restore(self) -> None:
        """Ask again for what was not seen to be there. Called once, after the tapes were read."""
        for message, mark in list(self._journal.state.marks.items()):
            self._put(message, mark)
        self._look_at_questions()
        for closed in list(self._journal.state.closed.values()):
            self._settle(closed)

    def mark(self, message: str, mark: Mark, place: Address | None = None) -> bool:
        """Put a mark on a person's message, by the platform's id; False when the platform has none.

        `place` is where it was written, for one of which that is not known yet.
        """
        if not self._put(message, mark, place):
            return False
        self._journal.note(MarkWanted(message, mark, place))
        return True

    def forget(self, message: str) -> None:
        if message in self._journal.state.marks:
            self._journal.note(MarkPlaced(message))

    def chosen(self, page: str, line: str) -> None:
        """The line that takes the place of a question's choices, when it is closed next."""
        self._chosen[page] = line

    def noted(self, fact: FactContent) -> None:
        """Hears every fact: a question that is no longer open is closed; a page that was shown can be settled."""
        if isinstance(fact, PageShown):
            closed = self._journal.state.closed.get(fact.page)
            if closed is not None:
                self._settle(closed)
        elif isinstance(fact, QuestionAsked) or self._open:
            self._look_at_questions()

    def _look_at_questions(self) -> None:
        state = self._journal.state
        for key in [key for key in self._open if key not in state.questions]:
            self._close(*self._open.pop(key))
        for key, question in state.questions.items():
            if key not in self._open:
                self._open[key] = (question, state.frames[question.frame].agent)

    def _close(self, question: QuestionState, agent: str) -> None:
        self._journal.note(
            QuestionClosed(
                question.page,
                agent,
                question.text,
                not question.options,
                question.reply_to,
                question.parts,
                place=question.place,
                chosen=self._chosen.pop(question.page, ""),
            )
        )
        self._settle(self._journal.state.closed[question.page])

    def _settle(self, closed: ClosedQuestion) -> None:
        """Remove the choices, once all of the page is there, and say there what was chosen."""
        if closed.page in self._journal.state.pages or closed.page in self._settling:
            return
        self._settling.add(closed.page)
        self.under_way += 1
        spec = self._spec_of(closed.page, closed.agent, closed.parts, closed.reply_to, closed.place)
        free = (Choice("free", "", free=True),) if closed.free else ()
        done = partial(self._settled, closed.page)
        self._outbox.settle(replace(spec, choices=free), closed.text, closed.chosen, done=done)

    def _settled(self, page: str, kept: bool) -> None:
        if kept:
            self._settling.discard(page)
        self._ended(QuestionSettled(page) if kept else None)

    def _put(self, message: str, mark: Mark, place: Address | None = None) -> bool:
        at = place or self._journal.state.written_at.get(message) or self._address
        if not self._outbox.mark(at, message, mark, done=partial(self._marked, message, mark)):
            return False
        self.under_way += 1
        return True

    def _marked(self, message: str, mark: Mark, kept: bool) -> None:
        there = kept and mark != "queued" and self._journal.state.marks.get(message) == mark
        self._ended(MarkPlaced(message) if there else None)

    def _ended(self, fact: FactContent | None) -> None:
        self.under_way -= 1
        with suppress(StorageError):  # the session is gone; the next one asks again
            if fact is not None:
                self._journal.note(fact)
                self._journal.hurry()
        if not self.under_way:
            self._on_rest()
