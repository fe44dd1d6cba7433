"""A playbook in execution: its state on the tape, and the code that makes its host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from runtime.core.errors import Divergence, Unjournaled
from runtime.tape.journal import Journal, digest_of
from runtime.tape.state import AgentState, FrameState


@dataclass(frozen=True, slots=True)
class Call:
    """A host call of a frame. `pos` finds its result in the journal; `digest` tells whether it is the same call."""

    pos: str
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

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
            _check(frame, call)
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


def _check(frame: Frame, call: Call) -> None:
    record = frame.state.records.get(call.pos)
    if record is not None and (record.name, record.digest) != (call.name, call.digest):
        raise Divergence(
            f"{frame.state.playbook}: at {call.pos} the journal has {record.name}, the code calls {call.name}"
            f"{call.args!r}; the playbook is not deterministic or was changed"
        )


async def _hand(frame: Frame, body: Body, issued: dict[str, Call], pos: str) -> None:
    record = frame.state.records[pos]
    if issued.pop(pos, None) is None:
        if record.error is not None and record.error[0] == "Cancelled":
            return
        raise Divergence(
            f"{frame.state.playbook}: the code never makes the recorded call {record.name} at {pos}; "
            "the playbook is not deterministic or was changed"
        )
    await body.hand(Handed(pos, record.value, record.error, record.variables))
