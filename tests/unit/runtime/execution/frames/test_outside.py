"""An outside effect is intended first; after a crash it is repeated under its key, or its outcome is unknown."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from runtime.core.errors import Divergence, OutcomeUnknown, PlaybookError
from runtime.core.ids import SessionId
from runtime.execution.frames.drive import OutsideEffect
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.tape import Fact
from tests.fakes.clock import FakeClock

CALL = FrameCall("0", "Bank.pay", (5,))


class Died(BaseException):
    """The process is gone."""


@dataclass
class Bank:
    """Counts payments by key. `dies` is when the process does: "before" the payment, or "after" it."""

    tape: list[Fact]
    dies: str = ""
    paid: list[str] = field(default_factory=list)
    intended: list[bool] = field(default_factory=list)

    async def pay(self, key: str) -> Any:
        self.intended.append(self.tape[-1].kind == "intent" and self.tape[-1].data["key"] == key)
        if self.dies == "before":
            raise Died
        if key not in self.paid:
            self.paid.append(key)
        if self.dies == "after":
            raise Died
        return {"paid": 5}


@asynccontextmanager
async def process(tape: list[Fact]) -> AsyncIterator[tuple[Journal, Frame]]:
    """A process that begins with what is on the tape."""

    async def write(batch: CommitBatch, /) -> None:
        assert batch.expect == len(tape)
        tape.extend(batch.facts)

    journal = Journal(SessionId("s"), FakeClock(), write)
    for fact in tape:
        journal.restore(fact)
    if not tape:
        journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
        journal.note(
            content_of(
                "start", {"f": "1000.0", "agent": "1000", "pb": "Main", "args": [], "kwargs": {}, "version": "1"}
            )
        )
    async with anyio.create_task_group() as tasks:
        journal.start(tasks)
        host: Any = None
        yield journal, Frame(journal, "1000.0", host)
        tasks.cancel_scope.cancel()


async def attempt(tape: list[Fact], effect: OutsideEffect, call: FrameCall = CALL) -> Any:
    """One life of the process; None when it died in it."""
    result: list[Any] = []
    try:
        async with process(tape) as (_, frame):
            result.append(await effect.value(frame, call))
    except BaseExceptionGroup as group:
        rest = group.split(Died)[1]
        if rest is not None:
            raise rest.exceptions[0] from None
    return result[0] if result else None


def kinds(tape: list[Fact]) -> list[str]:
    return [fact.kind for fact in tape]


async def test_the_intent_is_on_the_tape_before_the_effect_and_the_result_at_once_after_it() -> None:
    tape: list[Fact] = []
    bank = Bank(tape)
    assert await attempt(tape, OutsideEffect("Bank.pay", bank.pay)) == {"paid": 5}
    assert (bank.paid, bank.intended) == (["s.3"], [True])
    assert kinds(tape)[-2:] == ["intent", "res"]
    assert (tape[-1].data["name"], tape[-1].data["val"]) == ("Bank.pay", {"paid": 5})


@pytest.mark.parametrize("dies", ["before", "after"])
async def test_an_effect_that_can_be_repeated_is_under_the_same_key_and_happens_once(dies: str) -> None:
    tape: list[Fact] = []
    bank = Bank(tape, dies)
    assert await attempt(tape, OutsideEffect("Bank.pay", bank.pay, repeatable=True)) is None
    bank.dies = ""
    assert await attempt(tape, OutsideEffect("Bank.pay", bank.pay, repeatable=True)) == {"paid": 5}
    assert (bank.paid, kinds(tape).count("intent")) == (["s.3"], 1)


@pytest.mark.parametrize("dies", ["before", "after"])
async def test_an_effect_that_cannot_be_repeated_is_not_and_its_outcome_is_unknown(dies: str) -> None:
    tape: list[Fact] = []
    bank = Bank(tape, dies)
    await attempt(tape, OutsideEffect("Bank.pay", bank.pay))
    bank.dies = ""
    paid = list(bank.paid)
    for _ in range(2):
        with pytest.raises(OutcomeUnknown, match=r"Bank\.pay was started before a restart"):
            await attempt(tape, OutsideEffect("Bank.pay", bank.pay))
    assert (bank.paid, kinds(tape).count("res")) == (paid, 1)


async def test_a_recorded_result_is_given_again_without_the_effect() -> None:
    tape: list[Fact] = []
    bank = Bank(tape)
    await attempt(tape, OutsideEffect("Bank.pay", bank.pay))
    assert await attempt(tape, OutsideEffect("Bank.pay", bank.pay)) == {"paid": 5}
    assert len(bank.intended) == 1


async def test_a_failed_effect_is_a_result_too() -> None:
    async def refuse(_: str) -> Any:
        raise ValueError("no money")

    tape: list[Fact] = []
    for _ in range(2):
        with pytest.raises(ValueError, match="no money"):
            await attempt(tape, OutsideEffect("Bank.pay", refuse))
    assert kinds(tape).count("res") == 1


async def test_a_result_that_is_not_data_is_said_to_have_happened() -> None:
    async def odd(_: str) -> Any:
        return object()

    with pytest.raises(PlaybookError, match="pay happened, but returned something that is not JSON data"):
        await attempt([], OutsideEffect("Bank.pay", odd))


@pytest.mark.parametrize("dies", ["", "after"])
async def test_another_call_at_the_place_of_an_effect_is_refused(dies: str) -> None:
    tape: list[Fact] = []
    bank = Bank(tape, dies)
    await attempt(tape, OutsideEffect("Bank.pay", bank.pay, repeatable=True))
    happened = len(bank.intended)
    with pytest.raises(Divergence) as raised:
        await attempt(tape, OutsideEffect("Bank.pay", bank.pay, repeatable=True), FrameCall("0", "Bank.pay", (7,)))
    for part in (f"the journal has Bank.pay (arguments #{CALL.digest})", "the code now calls Bank.pay(7)"):
        assert part in raised.value.detail
    assert len(bank.intended) == happened
