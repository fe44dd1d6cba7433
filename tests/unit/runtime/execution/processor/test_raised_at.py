"""Where a failure was raised: on the tape, in the log, and in what people read."""

from __future__ import annotations

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.unit.runtime.execution.processor.walking import Walk, main, walking

pytestmark = pytest.mark.anyio

SHIP = '''
@playbook
async def Ship(parcels: list) -> float:
    """Ships parcels."""
    return await Weigh(parcels)

@playbook
async def Weigh(parcels: list) -> float:
    """Weighs parcels."""
    return average(parcels)

def average(parcels):
    return sum(parcels) / len(parcels)

@playbook
async def ShipOrPay(parcels: list) -> float:
    """Ships parcels, and pays where that fails."""
    try:
        return await Ship(parcels)
    except PlaybookError:
        raise ValueError("nothing to pay")
'''
LINES = ["test.pb:11 in Weigh", "test.pb:14 in average"]


def logged(walk: Walk) -> list[object]:
    """Where each failure that nobody caught was raised, as the log has it."""
    return [event.data["raised_at"] for event in walk.talk.named("playbook.failed")]


async def test_a_failure_names_the_innermost_playbook_and_the_lines_that_led_to_it(sandbox: MontySandbox) -> None:
    async with walking(main("- Set $rate to 0", "- $rate:float = Ship([])", code=SHIP), sandbox=sandbox) as walk:
        [said] = await walk.say("hi")
    assert said == "⚠️ Weigh failed: ZeroDivisionError: division by zero. Write again to start over."
    assert [fact.data.get("where") for fact in walk.talk.world.facts if fact.kind == "ret"] == [
        ["Host", "Weigh", None, LINES]
    ] * 3
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]
    assert [list(event.data["lines"]) for event in walk.talk.named("playbook.failed")] == [LINES]


async def test_a_failure_in_a_step_of_another_agent_names_that_step(sandbox: MontySandbox) -> None:
    till = "# Till\n## Pay\npublic: true\n### Steps\n- Set $sum to 3\n- Set $rest to $sum / 0\n- Return $rest\n"
    async with walking(main("- $rest:float = Till.Pay()", more=till), sandbox=sandbox) as walk:
        [said] = await walk.say("hi")
    assert said.startswith("⚠️ Pay failed: ")
    assert logged(walk) == ["Till: Pay:02:EXE"]


async def test_an_exception_that_replaces_a_caught_one_was_raised_where_it_was_raised(sandbox: MontySandbox) -> None:
    async with walking(main("- $rate:float = ShipOrPay([])", code=SHIP), sandbox=sandbox) as walk:
        [said] = await walk.say("hi")
    assert said == "⚠️ ShipOrPay failed: nothing to pay. Write again to start over."
    assert logged(walk) == ["Host: ShipOrPay, test.pb:22 in ShipOrPay"]


async def test_the_same_failure_caught_once_and_raised_later_is_told_of_its_last_place(sandbox: MontySandbox) -> None:
    code = (
        SHIP
        + "\n\n@playbook\nasync def Retry(parcels: list) -> float:\n"
        + (
            '    """Weighs again."""\n'
            "    try:\n        return await Ship(parcels)\n"
            "    except PlaybookError:\n        return await Weigh(parcels)\n"
        )
    )
    async with walking(main("- $rate:float = Retry([])", code=code), sandbox=sandbox) as walk:
        await walk.say("hi")
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]


async def test_a_failure_from_before_a_rest_is_told_of_the_same_place(sandbox: MontySandbox) -> None:
    code = SHIP + (
        "\n\n@playbook\nasync def Retry(parcels: list) -> float:\n"
        '    """Waits in the middle of a failure."""\n'
        "    try:\n        return await Ship(parcels)\n"
        "    except PlaybookError:\n        await Say('user', 'Go on?')\n"
        "        await WaitForMessage('user')\n        raise\n"
    )
    async with walking(main("- $rate:float = Retry([])", code=code), sandbox=sandbox, idle_s=0.001) as walk:
        assert await walk.say("hi") == ["Go on?"]
        await walk.talk.rested()
        [said] = await walk.say("yes")
    assert said.startswith("⚠️ Weigh failed: ")
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]
