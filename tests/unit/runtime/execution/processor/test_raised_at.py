"""Where a failure was raised: on the tape, in the log, and in what people read."""

from pathlib import Path

import pytest

from runtime.core.markup import as_written
from runtime.core.texts import english
from runtime.execution.calls.remote import call_of, with_calls
from runtime.execution.frames.outcomes import reason
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.execution.processor.walking import Walk, compiled, main, walking

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


async def test_a_failure_names_the_innermost_playbook_and_the_lines_that_led_to_it() -> None:
    async with walking(main("- Set $rate to 0", "- $rate:float = Ship([])", code=SHIP)) as walk:
        [said] = await walk.say("hi")
    assert said == "⚠️ Weigh failed: division by zero. Your next message begins anew."
    assert [fact.data.get("where") for fact in walk.talk.world.facts if fact.kind == "ret"] == [
        ["Host", "Weigh", None, LINES]
    ] * 3
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]
    assert [list(event.data["lines"]) for event in walk.talk.named("playbook.failed")] == [LINES]


async def test_a_failure_in_a_step_of_another_agent_names_that_step() -> None:
    till = "# Till\n## Pay\npublic: true\n### Steps\n- Set $sum to 3\n- Set $rest to $sum / 0\n- Return $rest\n"
    async with walking(main("- $rest:float = Till.Pay()", more=till)) as walk:
        [said] = await walk.say("hi")
    assert said.startswith("⚠️ Pay failed: ")
    assert logged(walk) == ["Till: Pay:02:EXE"]


async def test_an_exception_that_replaces_a_caught_one_was_raised_where_it_was_raised() -> None:
    async with walking(main("- $rate:float = ShipOrPay([])", code=SHIP)) as walk:
        [said] = await walk.say("hi")
    assert said == "⚠️ Ship or pay failed: nothing to pay. Your next message begins anew."
    assert logged(walk) == ["Host: ShipOrPay, test.pb:22 in ShipOrPay"]


async def test_the_same_failure_caught_once_and_raised_later_is_told_of_its_last_place() -> None:
    code = (
        SHIP
        + "\n\n@playbook\nasync def Retry(parcels: list) -> float:\n"
        + (
            '    """Weighs again."""\n'
            "    try:\n        return await Ship(parcels)\n"
            "    except PlaybookError:\n        return await Weigh(parcels)\n"
        )
    )
    async with walking(main("- $rate:float = Retry([])", code=code)) as walk:
        await walk.say("hi")
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]


async def test_a_failure_from_before_a_rest_is_told_of_the_same_place() -> None:
    code = SHIP + (
        "\n\n@playbook\nasync def Retry(parcels: list) -> float:\n"
        '    """Waits in the middle of a failure."""\n'
        "    try:\n        return await Ship(parcels)\n"
        "    except PlaybookError:\n        await Say('user', 'Go on?')\n"
        "        await WaitForMessage('user')\n        raise\n"
    )
    async with walking(main("- $rate:float = Retry([])", code=code), idle_s=0.001) as walk:
        assert await walk.say("hi") == ["Go on?"]
        await walk.talk.rested()
        [said] = await walk.say("yes")
    assert said.startswith("⚠️ Weigh failed: ")
    assert logged(walk) == [f"Host: Weigh, {LINES[-1]}"]


CHAIN = '''
class ShopClosed(Exception):
    def __init__(self, shop, until):
        super().__init__(f"the {shop} opens at {until}")

@playbook(public=True)
async def One(kind: str) -> str:
    """Calls steps."""
    return await Two(kind)

@playbook
async def Three(kind: str) -> str:
    """Fails in a way."""
    if kind == "key":
        return {}["city"]
    if kind == "file":
        open("/nowhere")
    if kind == "own":
        raise ShopClosed("bakery", 7)
    if kind == "library":
        import json
        json.loads("{")
    if kind == "group":
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Four())

@playbook
async def Four() -> str:
    """Fails, in a task of its own."""
    raise ShopClosed("kiosk", 9)

@playbook
async def Zero(kind: str) -> str:
    """Says what it catches."""
    try:
        await One(kind)
    except Exception as error:
        await Say("user", f"{type(error).__name__}: {error}")
        await WaitForMessage("user")
        raise
'''
STEPS = "## Two($kind:str) -> str\n### Steps\n- $found:str = Three($kind)\n- Return $found\n"


@pytest.mark.parametrize(
    ("kind", "said", "place"),
    [
        ("key", "KeyError: 'city'", "Host: Three, test.pb:18 in Three"),
        ("file", "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'", "test.pb:20 in Three"),
        ("own", "ShopClosed: the bakery opens at 7", "Host: Three, test.pb:22 in Three"),
        (
            "library",
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            "test.pb:25 in Three",
        ),
        ("group", "ShopClosed: the kiosk opens at 9", "Host: Four, test.pb:33 in Four"),
    ],
)
async def test_an_exception_keeps_type_text_and_place_from_python_through_steps_to_python_and_a_restart(
    kind: str, said: str, place: str
) -> None:
    made = main(f'- $found:str = Zero("{kind}")', code=f"import asyncio\n{CHAIN}", more=STEPS)
    async with walking(made, idle_s=0.001) as walk:
        assert await walk.say("hi") == [said]
        await walk.talk.rested()
        [failed] = await walk.say("go on")
    name, _, text = said.partition(": ")
    why = as_written(reason((name, text), english()))
    assert failed.endswith(f" failed: {why}. Your next message begins anew.")
    assert str(logged(walk)[0]).endswith(place)


async def test_a_failure_of_an_extension_names_its_lines() -> None:
    async def weigh() -> float:
        raise LookupError("no scales")

    calls = {"Weigh": call_of("Weigh", weigh)}
    text = main("- $rate:float = Weigh()")
    made = with_calls(await compiled(text), calls)
    async with talking(made, Model(), calls=calls) as talk:
        [said] = await talk.say("hi")
    [failed] = talk.named("playbook.failed")
    assert said.startswith("⚠️ Weigh failed: no scales")
    assert f"{Path(__file__).name}:" in str(failed.data["raised_at"])
