"""The presence of working agents: that they work, and on what, before they say anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from runtime.channels.outbox import Outbox
from runtime.core.address import Address, Speaker
from runtime.core.ids import AgentId
from runtime.meetings.meeting import place_of_work
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallKey


class AgentPresence:
    """The agents of one session. An agent works while a frame of it runs that waits for nobody and does not sleep."""

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
        """The agents of a frame and of those that called it."""
        frames, parts = self._journal.state.frames, frame.split(":")
        callers = (":".join(parts[:count]) for count in range(1, len(parts) + 1))
        return {frames[caller].agent for caller in callers if caller in frames}

    def _comes_back(self, agent: AgentId) -> bool:
        self._standing &= self._journal.state.waits.keys()
        return any(agent in self._agents_of(key.frame) for key in self._standing)

    def _show(self, agent: AgentId) -> None:
        known = self._journal.state.agents.get(agent)
        stack = self._work.get(agent, [])
        active = bool(stack) and not self._waits[agent] and not self._comes_back(agent)
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
