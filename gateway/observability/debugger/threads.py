"""The sessions in memory, and the thread number of each agent for the editor."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.observability.debugger.session_watch import SessionWatch
from runtime.core.errors import DebugError
from runtime.core.ids import AgentId

MAX_THREADS = 10_000
"""The number of agents outside memory whose thread numbers are remembered; a number is never given twice."""


class AgentThreads:
    """Numbers agents. An agent whose session returns to memory keeps its number."""

    def __init__(self) -> None:
        self._watches: list[SessionWatch] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._last = 0

    def add(self, watch: SessionWatch) -> None:
        """A session was loaded into memory."""
        self._watches.append(watch)

    def remove(self, watch: SessionWatch) -> None:
        """A session has left memory."""
        if watch in self._watches:
            self._watches.remove(watch)

    @property
    def watches(self) -> list[SessionWatch]:
        """The sessions in memory."""
        return list(self._watches)

    def __iter__(self) -> Iterator[tuple[int, SessionWatch, str]]:
        """All threads: number, session, agent."""
        for watch in self._watches:
            for agent in watch.journal.state.agents:
                yield self.number(watch, agent), watch, agent

    def number(self, watch: SessionWatch, agent: str) -> int:
        """The thread of an agent."""
        key = (str(watch.journal.session), agent)
        if key not in self._numbers:
            if len(self._numbers) >= MAX_THREADS:
                self._forget()
            self._last += 1
            self._numbers[key] = self._last
        return self._numbers[key]

    def _forget(self) -> None:
        here = {str(watch.journal.session) for watch in self._watches}
        self._numbers = {key: number for key, number in self._numbers.items() if key[0] in here}

    def find(self, number: int) -> tuple[SessionWatch, str]:
        """The agent of a thread. Raises DebugError when it is not in memory."""
        for known, watch, agent in self:
            if known == number:
                return watch, agent
        raise DebugError(f"thread {number} no longer exists; its session has ended, or has left memory")

    @staticmethod
    def name(watch: SessionWatch, agent: str) -> str:
        """The name that people see: `Host (agent 1000) in web:lobby`."""
        return f"{watch.journal.state.agents[AgentId(agent)].klass} (agent {agent}) in {watch.conversation}"
