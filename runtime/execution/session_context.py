"""The context that the parts of one session share, and the port of a debugger, which is told before each action of a
session and may delay it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.language.program import Program
from runtime.tape.facts.content import FactContent
from runtime.tape.journal import Journal


class WatchedSession(Struct, frozen=True):
    """A session in memory, as its watcher sees it. `conversation` is the key of its conversation."""

    conversation: str
    program: Program
    journal: Journal


class StepWatcher(Protocol):
    """Watches one session. Whatever it waits for, the session waits for; being cancelled there means that the frame
    was stopped. A session has none unless somebody debugs, and pays nothing then."""

    async def entered(self, frame: Frame, /) -> None:
        """A playbook is about to start, or to continue after a restart."""

    async def about_to_step(self, frame: Frame, /) -> None:
        """Control has reached an instruction (`frame.state.at`), which runs next."""

    async def about_to_run(self, frame: Frame, source: str, /) -> None:
        """A statement of a reply was accepted and runs next."""

    async def about_to_say(self, frame: Frame, /) -> None:
        """A text starts to appear while the model writes it, before its statement is complete."""

    async def about_to_call(self, frame: Frame, call: FrameCall, /) -> None:
        """Code has made a host call, which is executed next: a playbook in Python, whose call has a place, or a
        statement of a reply."""

    async def refused(self, frame: Frame, rule: str, error: str, /) -> None:
        """The model's reply was refused."""

    async def returned(self, frame: Frame, value: Any, /) -> None:
        """A playbook has its value, which its caller gets next."""

    async def failed(self, frame: Frame, error: Exception, /) -> None:
        """A playbook has failed, which its caller learns next."""

    def noted(self, fact: FactContent, /) -> None:
        """A fact was noted."""

    def left(self) -> None:
        """The session has left memory."""


WatchSession = Callable[[WatchedSession], StepWatcher]
"""Starts to watch a session that is loaded into memory."""


class SessionContext(Struct, frozen=True):
    """The program of a session, its journal, the group of its tasks, and the debugger's watcher, if there is one."""

    program: Program
    journal: Journal
    tasks: TaskGroup
    clock: Clock
    bus: Bus
    watcher: StepWatcher | None
