"""The port of a debugger: told before each thing that a session does, and free to keep it waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.execution.frames.frame import Call, Frame
from runtime.language.program import Program
from runtime.tape.facts.content import Content
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class Watched:
    """A session in memory, as who watches it sees it. `conversation` is the key of where it lives."""

    conversation: str
    program: Program
    journal: Journal


class StepWatcher(Protocol):
    """Watches one session. Whatever it waits for, the session waits for; being cancelled there means that the frame
    was stopped. A session has none unless somebody debugs, and pays nothing then."""

    async def entered(self, frame: Frame, /) -> None:
        """A playbook is about to be executed, or to continue after a restart."""
        ...

    async def about_to_step(self, frame: Frame, /) -> None:
        """Control has reached an instruction (`frame.state.at`), which is executed next."""
        ...

    async def about_to_run(self, frame: Frame, source: str, /) -> None:
        """A statement of a reply was accepted and is run next."""
        ...

    async def about_to_say(self, frame: Frame, /) -> None:
        """A text begins to be shown while the model writes it, before its statement is complete."""
        ...

    async def about_to_call(self, frame: Frame, call: Call, /) -> None:
        """Code has made a host call, which is executed next: a playbook in Python, whose call has a place, or a
        statement of a reply."""
        ...

    async def refused(self, frame: Frame, rule: str, error: str, /) -> None:
        """The model's reply was refused."""
        ...

    async def returned(self, frame: Frame, value: Any, /) -> None:
        """A playbook has its value; its caller gets it next."""
        ...

    async def failed(self, frame: Frame, error: Exception, /) -> None:
        """A playbook has failed; its caller hears of it next."""
        ...

    def noted(self, fact: Content, /) -> None:
        """A fact was noted."""
        ...

    def left(self) -> None:
        """The session has left memory."""
        ...


WatchSession = Callable[[Watched], StepWatcher]
"""Begins to watch a session that comes into memory."""
