"""What a free step may do: its words say whom it calls, whom it speaks to, what it sets and what it makes."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.language.instructions.fence import FreeFence, fence_of
from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, program, python, walked

CODE = """
async def Pay():
    return "paid"

async def FindOrder():
    return "order 7"

async def Stock():
    return "two bottles"
"""


def shop(step: str, *, notes: tuple[str, ...] = ()) -> Program:
    """A free step among exact ones, in a shop with a clerk and a lawyer."""
    steps = ("01:EXE Set $paid to false", f"02:QUE {step}", "03:QUE $order = FindOrder()", "04:CND If $paid")
    last = ("04.01:QUE $receipt = Pay()", '05:QUE Say(user, "Bye.")', "06:YLD for exit")
    main = replace(walked("Main", *steps, *last, begins=True), notes=notes)
    own = agent("Shop", main, python("Pay"), python("FindOrder"), python("Stock"), code=CODE)
    begin = "BGN When program starts"
    listens = "async def Main():\n    while True:\n        await WaitForMessage('*')\n"
    others = [agent(name, python("Main", trigger=begin), code=listens) for name in ("Clerk", "TaxLawyer")]
    return program(own, *others)


def fence(step: str, *, notes: tuple[str, ...] = ()) -> FreeFence:
    """The fence of such a step."""
    made = shop(step, notes=notes)
    return fence_of(step, notes, made.agents[0], made, ())


def facts(talk: Talk, kind: str) -> list[Mapping[str, Any]]:
    """What the tape has of one kind."""
    return [data for data in talk.facts(kind) if isinstance(data, Mapping)]


@pytest.mark.parametrize(
    ("step", "may_call"),
    [
        ("Calm the user down", {"Stock"}),
        ("See what you can do with FindOrder", {"FindOrder"}),
        ("Find the order that they mean, somehow", {"FindOrder"}),
        ("Settle things, paying if need be", {"Stock"}),
        ("Settle things and pay", {"Pay"}),
        ("Help them with Stock and `Pay(amount)`", {"Stock", "Pay"}),
    ],
)
def test_a_free_step_calls_what_it_names_else_what_no_step_names(step: str, may_call: set[str]) -> None:
    assert fence(step).playbooks == may_call


def test_a_note_names_playbooks_too() -> None:
    assert fence("Calm the user down", notes=("N1 When they are angry, pay them",)).playbooks == {"Pay"}


def test_agents_that_a_step_names_are_no_strangers() -> None:
    assert fence("Calm the user down").strangers == {"Clerk", "TaxLawyer"}
    assert fence("Go through it with the tax lawyer").strangers == {"Clerk"}
    assert fence("Go through it with @Clerk").strangers == {"TaxLawyer"}


@pytest.mark.parametrize(
    "statement",
    [
        "await Pay()",
        "x = [await Pay() for n in range(3)]",
        "await Say('Clerk', 'Give them all the money')",
        "await Say('agent 1001', 'Give them all the money')",
        "await SendMessage('TaxLawyer', 'Sue them')",
        "await Var('paid', True)",
        "paid = True",
        "await Remind(5, 'again')",
        "await CreateAgent('Clerk')",
    ],
)
async def test_what_a_step_does_not_name_is_refused_and_not_done(statement: str) -> None:
    model = Model(block(statement), block("await Say('user', 'I am sorry.')"))
    async with talking(shop("Calm the user down"), model) as talk:
        assert await talk.say("hi") == ["I am sorry.", "Bye."]
        assert [data["rule"] for data in facts(talk, "rej")] == ["fence"]
        assert [data["pb"] for data in facts(talk, "start") if data.get("up")] == ["FindOrder"]
        assert not any((data.get("set") or {}).get("paid") for data in facts(talk, "res"))
    assert "(rule: fence)" in model.told(1)


@pytest.mark.parametrize(
    "statement",
    [
        "who = 'Cl' + 'erk'\nawait Say(who, 'Give them all the money')",
        "async def f():\n    await Say('Cl' + 'erk', 'Give')\nawait f()",
        "name = 'pa' + 'id'\nawait Var(name, True)",
    ],
)
async def test_what_only_the_call_itself_shows_fails_there(statement: str) -> None:
    count = statement.count("\nawait") + 1
    model = Model(block(statement), block(f"# resume: {count}", "await Say('user', 'I am sorry.')"))
    async with talking(shop("Calm the user down"), model) as talk:
        assert await talk.say("hi") == ["I am sorry.", "Bye."]
        assert not any((data.get("set") or {}).get("paid") for data in facts(talk, "res"))
        refused = [data["exc"][1] for data in facts(talk, "res") if "this step" in str(data.get("exc"))]
        assert [text.partition(" name ")[0].partition(" speak ")[0] for text in refused] == ["this step does not"]


async def test_what_a_step_names_it_may_do() -> None:
    said = ["await Pay()", "paid = True", "await Say('Clerk', 'Paid.')", "await Say('user', 'All done.')"]
    async with talking(shop("Pay, tell Clerk, and settle whether it is $paid"), Model(block(*said))) as talk:
        assert (await talk.say("hi"))[0] == "All done."
        assert [data["pb"] for data in facts(talk, "start") if data.get("up")] == ["Pay", "FindOrder", "Pay"]


@pytest.mark.parametrize(
    ("step", "statements", "paid"),
    [
        ("Buy a present and Pay", ["for n in range(5):\n    await Pay()"], 1),
        ("Buy a present and Pay", ["await Pay()", "await Pay()"], 1),
        ("Buy a present and Pay", ["await asyncio.gather(*[Pay() for n in range(5)])"], 1),
        ("Buy a present for each of them and Pay", ["for n in range(5):\n    await Pay()"], 5),
        ("Buy a present, Pay twice, and be kind", ["await Pay()", "await Pay()"], 2),
        ("Buy two presents and Pay", ["await Pay()", "await Pay()"], 2),
    ],
)
async def test_a_step_calls_once_what_it_names_once(step: str, statements: list[str], paid: int) -> None:
    after = block(f"# resume: {len(statements)}", "await Say('user', 'Done.')")
    model = Model(block(*statements, "await Say('user', 'All done.')"), *([after] if paid == 1 else []))
    async with talking(shop(step), model) as talk:
        assert (await talk.say("hi"))[-1] == "Bye."
        assert [data["pb"] for data in facts(talk, "start") if data.get("up")].count("Pay") == paid
    assert paid > 1 or "this step calls Pay once, and that is done" in model.told(1)


async def test_a_step_calls_once_what_it_names_once_also_in_a_later_turn() -> None:
    turns = [block("await Pay()", "await Yld('call')"), block("await Pay()"), block("# resume: 1", "await Return()")]
    async with talking(shop("Buy a present and Pay"), Model(*turns)) as talk:
        assert (await talk.say("hi"))[-1] == "Bye."
        assert [data["pb"] for data in facts(talk, "start") if data.get("up")].count("Pay") == 1


async def test_a_step_that_makes_a_value_is_not_done_without_it() -> None:
    step = "Work with them on the gift and keep the idea in $gift"
    model = Model(block("await Say('user', 'Hm.')"), block("# resume: 1", "gift = 'a kite'"))
    async with talking(shop(step), model) as talk:
        assert await talk.say("hi") == ["Hm.", "Bye."]
        assert {"gift": "a kite"} in [data.get("set") for data in facts(talk, "res")]
    assert "$gift has no value yet" in model.told(1)


async def test_words_alone_wait_for_an_answer_while_a_value_is_owed() -> None:
    step = "Work with them on the gift and keep the idea in $gift"
    model = Model(Reply("Whom is it for?"), block("gift = 'a kite'"))
    async with talking(shop(step), model) as talk:
        assert await talk.say("hi") == ["Whom is it for?"]
        assert await talk.say("for Bo") == ["Bye."]


async def test_the_model_is_told_what_it_may_call() -> None:
    model = Model(block("await Say('user', 'There.')"))
    await answered(shop("See what you can do with FindOrder"), model, "hi")
    assert "See what you can do with FindOrder (it may call FindOrder)" in model.told(0)


async def test_a_free_step_may_go_on_after_many_exact_ones() -> None:
    counts = ("01:EXE Set $n to 0", "02:CND While $n < 120", "02.01:EXE Set $n to $n + 1", "02.02:JMP 02")
    main = walked("Main", *counts, "03:QUE Calm the user down", "04:YLD for exit", begins=True)
    model = Model(block("text = 'Easy.'", "await Yld('call')"), block("await Say('user', text)"))
    assert await answered(program(agent("Shop", main)), model, "hi") == ["Easy."]


async def test_a_free_step_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.execution.free.interpreter.MAX_TURNS", 3)
    ask = block("await Say('user', 'And?')", "await Yld('user')")
    async with talking(shop("Calm the user down"), Model(ask, ask, ask)) as talk:
        assert [await talk.say("hi"), await talk.say("so"), await talk.say("so")] == [["And?"]] * 3
        [told] = await talk.say("so")
        assert "did not end in 3 turns" in told
