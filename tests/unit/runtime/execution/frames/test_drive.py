"""How code is driven: results one at a time, and nothing new before they are used up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.core.ids import AgentId, SessionId
from runtime.execution.frames.drive import drive
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.tape.facts.frames import CallReturned, FrameStarted
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.state.frames import CallRecord
from tests.fakes.clock import FakeClock


async def _unwritten(_: CommitBatch, /) -> None:
    raise AssertionError("nothing is written here")


def frame_with(*values: int) -> Frame:
    """A frame whose first calls have these results, in their order."""
    journal = Journal(SessionId("s"), FakeClock(), _unwritten)
    journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
    journal.note(FrameStarted("1000.0", AgentId("1000"), "Main", [], {}, "1"))
    for pos, value in enumerate(values):
        call = FrameCall(str(pos), "Ask", (pos,))
        journal.note(CallReturned("1000.0", call.pos, call.name, call.digest, value))
    host: Any = None
    return Frame(journal, "1000.0", host)


@dataclass
class Racing:
    """Asks twice. The first answer makes it ask once more, the second makes it give that up and end."""

    made: list[FrameCall] = field(default_factory=lambda: [FrameCall("0", "Ask", (0,)), FrameCall("1", "Ask", (1,))])
    cancelled: list[FrameCall] = field(default_factory=list)
    handed: list[str] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)
    ended: bool = False

    async def quiet(self) -> None:
        self.looked.append(len(self.handed))

    def take_calls(self) -> Sequence[FrameCall]:
        made, self.made = self.made, []
        return made

    def take_cancelled(self) -> Sequence[FrameCall]:
        cancelled, self.cancelled = self.cancelled, []
        return cancelled

    async def hand(self, pos: str, _record: CallRecord, /) -> None:
        self.handed.append(pos)
        more = FrameCall("2", "Pay", (100,))
        if len(self.handed) == 1:
            self.made.append(more)
        else:
            self.cancelled.append(more)
            self.ended = True


@dataclass
class Host:
    """Writes down what it is to do."""

    started: list[str] = field(default_factory=list)

    def start(self, _frame: Frame, call: FrameCall, /) -> None:
        self.started.append(call.name)

    async def give_up(self, _frame: Frame, call: FrameCall, /) -> None:
        self.started.append(f"not {call.name}")


async def test_nothing_new_begins_before_the_recorded_results_are_used_up() -> None:
    body, host = Racing(), Host()
    await drive(frame_with(10, 20), body, host)
    assert body.handed == ["0", "1"]
    assert host.started == []


async def test_code_is_quiet_before_each_result() -> None:
    body = Racing()
    await drive(frame_with(10, 20), body, Host())
    assert body.looked == [0, 1, 2]
