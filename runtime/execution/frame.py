"""A playbook in execution: its state on the tape, and the code that makes its host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from runtime.core.errors import Divergence, Unjournaled
from runtime.tape.frame_rules import call_key
from runtime.tape.journal import Journal, digest_of
from runtime.tape.state import AgentState, CallRecord, FrameState

MAX_SHOWN_CHARS = 80
"""So much of a call's arguments or result stands in an error."""


@dataclass(frozen=True, slots=True)
class Call:
    """A host call of a frame. `pos` finds its result in the journal; `digest` tells whether it is the same call.

    `place` is the call's file and line, None where it is not known.
    """

    pos: str
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None

    @property
    def digest(self) -> str:
        """Of name and arguments."""
        return digest_of(self.name, self.args, self.kwargs)


@dataclass(frozen=True, slots=True)
class Handed:
    """A recorded result on its way to the code. `error` is exception type and text."""

    pos: str
    value: Any
    error: tuple[str, str] | None
    variables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """A call that the tape has; `became` says in words how far it has come."""

    name: str
    digest: str
    became: str


class Body(Protocol):
    """Code of a frame that runs until it waits for host calls: a python playbook, or one statement of a reply."""

    async def quiet(self) -> None:
        """Return when the code can go no further without a result, or has ended."""
        ...

    def take_calls(self) -> Sequence[Call]:
        """Calls made since the last asking, in the order of their evaluation."""
        ...

    def take_cancelled(self) -> Sequence[Call]:
        """Calls that the code gave up since the last asking."""
        ...

    async def hand(self, result: Handed, /) -> None:
        """Give the code one result."""
        ...

    @property
    def ended(self) -> bool: ...


class HostCalls(Protocol):
    """Executes host calls; the result of each becomes a fact about its frame."""

    def start(self, frame: Frame, call: Call, /) -> None: ...

    async def give_up(self, frame: Frame, call: Call, /) -> None: ...


class Frame:
    """The live side of a frame."""

    def __init__(self, journal: Journal, id_: str) -> None:
        self.id = id_
        self._journal = journal
        self._changed = anyio.Event()
        self._waits = False
        journal.listen(id_, self._set_changed)

    @property
    def state(self) -> FrameState:
        """What the tape says about this frame."""
        return self._journal.state.frames[self.id]

    @property
    def agent(self) -> AgentState:
        """The agent whose variables the frame works on."""
        return self._journal.state.agents[self.state.agent]

    @property
    def alive(self) -> bool:
        """Whether the frame is still on the stack."""
        return self.id in self._journal.state.frames

    def known(self, pos: str) -> Known | None:
        """The call that the tape has at a position, finished or under way."""
        state, key = self._journal.state, call_key(self.id, pos)
        record = self.state.records.get(pos)
        if record is not None:
            return Known(record.name, record.digest, _became(record))
        child = state.frames.get(f"{self.id}:{pos}")
        if child is not None and child.caller is not None:
            return Known(child.caller.name, child.caller.digest, "which is being executed")
        wait = state.waits.get(key)
        if wait is not None:
            return Known(wait.name, wait.digest, "which waits")
        intent = state.intents.get(key)
        return Known(intent.name, intent.digest, "which was begun") if intent is not None else None

    @property
    def still(self) -> bool:
        """Whether its code waits for a fact that has not come."""
        return self._waits and not self._changed.is_set()

    def close(self) -> None:
        """Forget the live side; the tape keeps the rest."""
        self._journal.forget(self.id)

    def _set_changed(self) -> None:
        self._changed.set()

    async def change(self) -> None:
        """Return after the next fact about this frame."""
        self._waits = True
        self._journal.settle()
        try:
            await self._changed.wait()
        finally:
            self._waits = False

    def expect_change(self) -> None:
        """From now on `change` waits for a new fact."""
        self._changed = anyio.Event()


def _became(record: CallRecord) -> str:
    if record.error is not None:
        return f"which raised {record.error[0]}"
    return f"which gave {shortened(repr(record.value))}"


def shown_call(call: Call) -> str:
    """A call as its author wrote it, more or less."""
    given = [repr(value) for value in call.args] + [f"{name}={value!r}" for name, value in call.kwargs.items()]
    return f"{call.name}({shortened(', '.join(given))})"


def shortened(text: str) -> str:
    """At most `MAX_SHOWN_CHARS` of `text`."""
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


async def drive(frame: Frame, body: Body, host: HostCalls, *, prefix: str = "") -> None:
    """Run `body` to its end, handing it the results of its calls one at a time, in the order of the tape.

    The same path live and in replay: a result reaches the code only from the journal, and only when the code is quiet;
    nothing without a record starts before the records are used up. `prefix` selects the positions of this body.
    Raises Divergence when code and journal do not agree, Unjournaled when the code waits for anything else.
    """
    issued: dict[str, Call] = {}
    waiting: list[Call] = []
    handed = 0
    while True:
        await body.quiet()
        if not frame.alive:
            await anyio.sleep_forever()  # the program has ended, or was stopped: whoever did that cancels us
        for call in body.take_calls():
            check_call(frame, call)
            issued[call.pos] = call
            if call.pos not in frame.state.records:
                waiting.append(call)
        if body.ended:
            return
        for call in body.take_cancelled():
            issued.pop(call.pos, None)
            waiting = [other for other in waiting if other.pos != call.pos]
            await host.give_up(frame, call)
        order = [pos for pos in frame.state.order if pos.startswith(prefix)]
        if handed < len(order):
            pos = order[handed]
            handed += 1
            await _hand(frame, body, issued, pos)
            continue
        frame.expect_change()
        for call in waiting:
            host.start(frame, call)
        waiting.clear()
        if not issued:
            raise Unjournaled(
                f"{frame.state.playbook} waits for something that is not a host call; use Sleep, WaitForMessage or a "
                "playbook instead of waiting outside the journal"
            )
        await frame.change()


def check_call(frame: Frame, call: Call) -> None:
    """Raise Divergence when the tape has another call than `call` at its position, finished or not."""
    known = frame.known(call.pos)
    if known is None or (known.name, known.digest) == (call.name, call.digest):
        return
    differs = "with other arguments" if known.name == call.name else "instead"
    raise _diverged(
        frame,
        call.place,
        f"as call {call.pos} of its turn {frame.state.turn} the journal has {known.name} (arguments #{known.digest}), "
        f"{known.became}; the code now calls {shown_call(call)} (arguments #{call.digest}) {differs}",
    )


def _diverged(frame: Frame, place: str | None, detail: str) -> Divergence:
    state = frame.state
    what = f"{state.playbook} did something else when it was executed again{f' ({place})' if place else ''}"
    why = "it was changed, or depends on more than arguments, variables and calls (Now and Random give time and chance)"
    return Divergence(what, f"frame {frame.id}: {detail}; {why}")


async def _hand(frame: Frame, body: Body, issued: dict[str, Call], pos: str) -> None:
    record = frame.state.records[pos]
    if issued.pop(pos, None) is None:
        if record.error is not None and record.error[0] == "Cancelled":
            return
        raise _diverged(
            frame,
            None,
            f"as call {pos} of its turn {frame.state.turn} the journal has {record.name} (arguments "
            f"#{record.digest}), {_became(record)}; the code never makes it",
        )
    await body.hand(Handed(pos, record.value, record.error, record.variables))
