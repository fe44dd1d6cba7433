"""The host call by which a program has something said in its conversation at set times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from runtime.core.errors import PlaybookError
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outside import Effect, Outside
from runtime.execution.frames.signatures import call
from runtime.tape.journal import Journal

MakeSchedule = Callable[[str, str, str], Awaitable[str]]
"""Makes the schedule of a key, once however often it is called: when, and what is said. Gives its name. Raises
PlaybookError with the reason why not."""


class ScheduleCalls:
    """The call of one session."""

    def __init__(self, journal: Journal, make: MakeSchedule | None) -> None:
        """Without `make` nothing can be scheduled: the conversation ends before."""
        self._outside = Outside(journal)
        self._make = make

    @call("Schedule", example='name = await Schedule("every weekday at 9", "ask what everybody is at")')
    async def schedule(self, frame: Frame, call: FrameCall, when: str, text: str) -> None:
        """Sends that text into the conversation at set times, as `/schedule` does, and returns "schedule 1".

        The schedule outlasts the session. A time that Parley does not understand raises an error with examples.
        """
        make = self._make
        if make is None:
            raise PlaybookError("nothing can be scheduled here: neither a task nor parley exec lasts until then")

        async def happen(key: str) -> str:
            return await make(key, when, text)

        await self._outside.perform(frame, call, Effect("a schedule", happen, repeatable=True))
