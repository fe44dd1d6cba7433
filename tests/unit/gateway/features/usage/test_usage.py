"""What models cost: counted for each answer, and told to people about themselves, to owners about everybody."""

from datetime import date
from typing import Any

import anyio
import pytest

from gateway.access.people import Role
from gateway.features.usage.ledger import KEPT_DAYS, Ledger, Used, grouped, last_days
from gateway.models.answers import ModelAmounts, answers_on
from runtime.bus import Bus
from runtime.core.texts import english, load_texts
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart
from runtime.llm.client import TokenPrices
from tests.fakes.clock import FakeClock
from tests.fakes.memory.usage import MemoryUsage
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people

TODAY = date(2026, 1, 1)


def answer(person: str | None, **more: Any) -> LLMAnswered:
    told: dict[str, Any] = {
        "tokens_in": 1000,
        "tokens_out": 10,
        "tokens_cached": 800,
        "cost_usd": 0.25,
        "participant_id": person,
        "program": "shop",
        "agent": "Clerk",
        "purpose": "execute",
    }
    kind = more.pop("kind", LLMAnswered)
    at = ("s", "1000.0", "1000", "Main", "openai/x")
    rest: dict[str, Any] = {"reply": "well", "seconds": 1.0, "first_text_s": None, "conversation": "test:1"}
    made: LLMAnswered = kind(*at, **(told | rest | more))
    return made


async def test_answers_add_up_by_day_person_program_agent_and_model() -> None:
    clock, store = FakeClock(), MemoryUsage()
    ledger = Ledger(store, clock)
    for person in ("test:1", "test:1", None):
        await ledger.count(answer(person))
    await clock.advance(86_400)
    await ledger.count(answer("test:1"))
    assert store.sums[Used(TODAY, "test:1", "shop", "Clerk", "openai/x", "execute")] == ModelAmounts(
        2, 2000, 1600, 20, 0.5
    )
    rows = await ledger.rows(30)
    assert [name for name, _ in grouped(rows, "person")] == ["test:1", ""]
    assert [(name, amounts.answers) for name, amounts in grouped(rows, "day")] == [("2026-01-01", 3), ("2026-01-02", 1)]
    assert len(last_days(TODAY, 1000)) == KEPT_DAYS


async def test_a_member_reads_their_own_use_and_an_owner_everybodys_in_private() -> None:
    clock = FakeClock()
    store = people(clock, _1=Role.OWNER, _2=Role.MEMBER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    for person in ("test:1", "test:2", "test:3", "test:3"):
        await Ledger(door.usage, clock).count(answer(person))
    for person, private in (("2", True), ("1", False), ("1", True)):
        await door.take(event("", command="usage", person=person, private=private, id=f"{person}{private}"))
    member, owner_in_a_group, owner = door.said
    for own in (member, owner_in_a_group):
        assert "- today (UTC): $0.25; answers: 1; tokens in: 1,000 (800 cached), out: 10" in own
        assert "test:" not in own
    assert "- today (UTC): $1.00; answers: 4;" in owner
    assert "By person:\n- test:3: $0.50; answers: 2;" in owner


async def test_whoever_was_answered_by_no_model_reads_so_in_one_sentence() -> None:
    clock = FakeClock()
    store = people(clock, _1=Role.OWNER, _2=Role.MEMBER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    for person in ("1", "2"):
        await door.take(event("", command="usage", person=person, private=True, id=person))
    assert door.said == [
        "No model has answered anybody in the last 30 days.",
        "No model has answered you in the last 30 days.",
    ]


async def test_what_broke_off_and_what_a_compilation_asked_counts_and_the_sum_says_what_is_estimated() -> None:
    clock, store = FakeClock(), MemoryUsage()
    bus, ledger = Bus(clock), Ledger(store, clock)
    async with answers_on(bus) as answers, anyio.create_task_group() as tasks:
        bus.publish(answer(None, purpose="compile", agent=""))  # before anybody counts, as at a start
        bus.publish(answer("test:1", kind=LLMAnsweredInPart, estimated=True))
        tasks.start_soon(ledger.follow, answers)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    told = await ledger.told(None, load_texts("en"))
    assert "- today (UTC): $0.50; answers: 2; tokens in: 2,000 " in told
    assert "(1 of the answers ended early, so their usage is partly an estimate)" in told
    once = "$0.25; answers: 1; tokens in: 1,000 (800 cached), out: 10"
    assert f"By purpose:\n- compile: {once}\n- execute: {once}" in told


@pytest.mark.parametrize(
    ("known", "unknown", "told"),
    [
        (0, 2, "price unknown; answers: 2; tokens in: 2,000 (1,600 cached), out: 20"),
        (
            1,
            2,
            "$0.25; answers: 3; tokens in: 3,000 (2,400 cached), out: 30 (the price of 2 of the answers is unknown)",
        ),
        (1, 0, "$0.25; answers: 1; tokens in: 1,000 (800 cached), out: 10"),
    ],
)
async def test_a_price_that_nobody_knows_is_not_told_as_nothing(known: int, unknown: int, told: str) -> None:
    clock, store = FakeClock(), MemoryUsage()
    ledger = Ledger(store, clock)
    for usd in [0.25] * known + [None] * unknown:
        await ledger.count(answer("test:1", cost_usd=usd))
    assert f"- today (UTC): {told}\n" in await ledger.told("test:1", load_texts("en"))


async def test_an_answer_that_costs_nothing_has_a_price() -> None:
    clock, store = FakeClock(), MemoryUsage()
    await Ledger(store, clock).count(answer("test:1", cost_usd=0.0))
    assert "(UTC): $0.00;" in await Ledger(store, clock).told("test:1", load_texts("en"))


def test_prices_of_the_settings_count_cached_tokens_by_their_own_price() -> None:
    assert TokenPrices(usd_in=10, usd_cached=1, usd_out=20).of(1_000_000, 400_000, 100_000) == pytest.approx(
        6 + 0.4 + 2
    )


async def test_amounts_of_which_a_part_is_unpriced_and_an_estimate_are_shown_as_they_are_written() -> None:
    ledger, texts = Ledger(MemoryUsage(), FakeClock()), english()
    await ledger.count(answer("_1_", cost_usd=None))
    await ledger.count(answer("_1_", kind=LLMAnsweredInPart, estimated=True))
    said = "$0.25; answers: 2; tokens in: 2,000 (1,600 cached), out: 20 (the price of 1 of the answers is unknown)"
    said += " (1 of the answers ended early, so their usage is partly an estimate)"
    for person, line in (("_1_", f"- today (UTC): {said}"), (None, f"- \\_1\\_: {said}")):
        assert line in (await ledger.told(person, texts)).splitlines()
