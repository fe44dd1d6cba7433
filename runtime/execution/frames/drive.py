"""Runs the code of a frame: its calls go to the host, and its results come from the tape, live and in replay alike.

Effects outside of Parley are intended on the tape before they happen, and never repeated by guessing. The order is:
`intent` committed, the effect under its key, its result committed at once. A restart that finds an intent without a
result repeats the effect under the same key where that happens once, and else records that nobody knows
(OutcomeUnknown), for the code that made the call to decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import Divergence, JournalError, OutcomeUnknown, PlaybookError, StorageError, Unjournaled
from runtime.execution.frames.frame import Frame, FrameBody, FrameCall, HostCalls, shortened
from runtime.execution.frames.outcomes import failed_call, lines_of, result_of, site
from runtime.tape.facts.frames import CallReturned, EffectIntended
from runtime.tape.journal import as_data
from runtime.tape.state.frames import CallKey, IntentState, RaisedAt


async def drive(frame: Frame, body: FrameBody, host: HostCalls, *, prefix: str = "") -> None:
    """Run `body` to its end, handing it the results of its calls one at a time, in the order of the tape.

    The same path live and in replay: a result reaches the code only from the journal, and only when the code is quiet;
    nothing without a record starts before the records are used up. `prefix` selects the positions of this body.
    Raises Divergence when code and journal do not agree, Unjournaled when the code waits for anything else.
    """
    calls = _Calls(frame, body, prefix)
    waiting: list[FrameCall] = []
    checked = False
    while True:
        await body.quiet()
        if not frame.alive:
            await anyio.sleep_forever()  # the program has ended, or was stopped: whoever did that cancels us
        waiting += calls.take()
        if body.ended:
            return
        for call in calls.take_cancelled():
            waiting = [other for other in waiting if other.pos != call.pos]
            await host.give_up(frame, call)
        if await calls.hand_next():
            continue
        if not checked:
            calls.check_under_way()
            checked = True
        frame.expect_change()
        for call in waiting:
            host.start(frame, call)
        waiting.clear()
        if not calls.issued:
            raise Unjournaled(
                f"{frame.state.playbook} waits for something that is not a host call; use Sleep, WaitForMessage or a "
                "playbook instead of waiting outside the journal"
            )
        await frame.change()


async def rehearse(frame: Frame, body: FrameBody) -> None:
    """Run `body` through the recorded results without starting anything. Raises Divergence if it acts differently."""
    calls = _Calls(frame, body, "")
    while True:
        await body.quiet()
        calls.take()
        calls.take_cancelled()
        if body.ended or not await calls.hand_next():
            break
    calls.check_handed()
    calls.check_under_way()


class _Calls:
    """The calls that a body has made, and its place in the frame's results."""

    def __init__(self, frame: Frame, body: FrameBody, prefix: str) -> None:
        self.issued: dict[str, FrameCall] = {}
        """The calls that wait for a result."""
        self._frame = frame
        self._body = body
        self._prefix = prefix
        self._handed = 0
        self._order_read: list[str] | None = None
        self._own: list[str] = []
        self._looked_at = 0

    def take(self) -> list[FrameCall]:
        """Take new calls; returns those without a result so far."""
        new = self._body.take_calls()
        if not new:
            return []
        for call in new:
            check_call(self._frame, call)
            self.issued[call.pos] = call
        return [call for call in new if call.pos not in self._frame.state.records]

    def take_cancelled(self) -> list[FrameCall]:
        return [call for call in self._body.take_cancelled() if self.issued.pop(call.pos, None) is not None]

    async def hand_next(self) -> bool:
        order = self._order()
        if self._handed == len(order):
            return False
        pos = order[self._handed]
        self._handed += 1
        record = self._frame.state.records[pos]
        if self.issued.pop(pos, None) is not None:
            await self._body.hand(pos, record)
        elif not self._was_cancelled(pos):
            raise _never_made(self._frame, pos)
        return True

    def check_handed(self) -> None:
        """Raise Divergence if the code has ended although there are results for it."""
        for pos in self._order()[self._handed :]:
            if pos not in self.issued and not self._was_cancelled(pos):
                raise _never_made(self._frame, pos)

    def check_under_way(self) -> None:
        """Raise Divergence if the tape has started a call that the code does not make."""
        for pos in self._frame.under_way():
            if pos.startswith(self._prefix) and pos not in self.issued:
                raise _never_made(self._frame, pos)

    def _order(self) -> list[str]:
        """The positions of the results that are this body's; what was looked at once is not looked at again."""
        order = self._frame.state.order
        if order is not self._order_read:
            self._order_read, self._own, self._looked_at = order, [], 0
        if self._looked_at < len(order):
            self._own += [pos for pos in order[self._looked_at :] if pos.startswith(self._prefix)]
            self._looked_at = len(order)
        return self._own

    def _was_cancelled(self, pos: str) -> bool:
        error = self._frame.state.records[pos].error
        return error is not None and error[0] == "Cancelled"


def check_call(frame: Frame, call: FrameCall) -> None:
    """Raise Divergence if the tape has a different call from `call` at its position, finished or not."""
    known = frame.known(call.pos)
    if known is None or (known.name, known.digest) == (call.name, call.digest):
        return
    differs = "with other arguments" if known.name == call.name else "instead"
    raise _diverged(
        frame,
        call.place,
        f"as call {call.pos} of its turn {frame.state.turn} the journal has {known.name} (arguments #{known.digest}), "
        f"{known.became}; the code now calls {_shown(call)} (arguments #{call.digest}) {differs}",
    )


async def performed(frame: Frame, call: FrameCall) -> None:
    """Begin a call, and return when it has its result, or the frame is no more."""
    frame.expect_change()
    frame.host.start(frame, call)
    while frame.alive and call.pos not in frame.state.records:
        await frame.change()
        frame.expect_change()


def _never_made(frame: Frame, pos: str) -> Divergence:
    known = frame.known(pos)
    what = f"{known.name} (arguments #{known.digest}), {known.became}" if known is not None else "a call"
    return _diverged(
        frame, None, f"as call {pos} of its turn {frame.state.turn} the journal has {what}; the code never makes it"
    )


def _diverged(frame: Frame, place: str | None, detail: str) -> Divergence:
    state = frame.state
    what = f"{state.playbook} did something else when it was executed again{f' ({place})' if place else ''}"
    why = "it was changed, or depends on more than arguments, variables and calls (Now and Random give time and chance)"
    return Divergence(what, f"frame {frame.id}: {detail}; {why}")


def _shown(call: FrameCall) -> str:
    given = [repr(value) for value in call.args] + [f"{name}={value!r}" for name, value in call.kwargs.items()]
    return f"{call.name}({shortened(', '.join(given))})"


class OutsideEffect(Struct, frozen=True):
    """Something that happens outside.

    `happen` takes the effect's key, the same at every repetition, and returns JSON data; where it cannot tell whether
    it happened it raises OutcomeUnknown. `repeatable`: under one key it happens once, or doing it again does no harm.
    `what` names it for people: "Weather.forecast of https://…".
    """

    what: str
    happen: Callable[[str], Awaitable[Any]]
    repeatable: bool = False

    async def perform(self, frame: Frame, call: FrameCall) -> None:
        """Let it happen as the answer to `call`; its outcome is the call's record, exceptions included.

        Continues where a crash left it. Raises StorageError, and Divergence when another call is recorded here.
        """
        check_call(frame, call)
        if call.pos in frame.state.records:
            return
        intent = frame.journal.state.intents.get(CallKey(frame.id, call.pos))
        if intent is None:
            intent = await _intended(frame, call)
        elif not self.repeatable:
            unknown = f"{self.what} was started before a restart, and its outcome is unknown; look before you repeat it"
            _note_failure(frame, call, OutcomeUnknown(unknown))
            await frame.journal.commit()
            return
        try:
            value = await self._data(intent.key)
        except (StorageError, JournalError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it raises is its result, for the code that made the call
            _note_failure(frame, call, error)
        else:
            if frame.alive:
                frame.journal.note(CallReturned(*site(frame, call), value))
        await frame.journal.commit()

    async def value(self, frame: Frame, call: FrameCall) -> Any:
        """Perform, and return the value or raise the exception of the outcome."""
        await self.perform(frame, call)
        return result_of(frame.state.records[call.pos])

    async def _data(self, key: str) -> Any:
        value = await self.happen(key)
        try:
            return as_data(value)
        except (TypeError, ValueError) as error:
            not_data = f"{self.what} happened, but returned something that is not JSON data: {error}"
            raise PlaybookError(not_data) from error


async def _intended(frame: Frame, call: FrameCall) -> IntentState:
    journal = frame.journal
    journal.note(EffectIntended(*site(frame, call), f"{journal.session}.{journal.state.seq + 1}"))
    intent = journal.state.intents[CallKey(frame.id, call.pos)]
    await journal.commit()
    return intent


def _note_failure(frame: Frame, call: FrameCall, error: Exception) -> None:
    if not frame.alive:
        return
    failed, lines = failed_call(frame, call, error), lines_of(error)
    if failed.raised_at is None and lines:
        place = RaisedAt(frame.agent.klass, frame.state.playbook, frame.state.step, lines)
        failed = replace(failed, raised_at=place)
    frame.journal.note(failed)
