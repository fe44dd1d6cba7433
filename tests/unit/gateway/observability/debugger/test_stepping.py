"""Breakpoints on English steps, and going on from them."""

import json
from pathlib import Path

from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from tests.fakes.people.talk import Reply, block
from tests.unit.gateway.observability.debugger.stand import (
    ASK,
    ASKS,
    COUNT,
    FIND,
    NAMED,
    PICK,
    PICKS,
    RETURN,
    TELL,
    debugged,
    guide_in,
    guided,
)
from tests.unit.runtime.sessions.programs import agent, llm
from tests.unit.runtime.sessions.programs import program as program_of


async def test_a_session_stands_before_a_step_and_goes_on(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        (found,) = await at.editor.begin({at.file: [FIND]})
        assert found["verified"] is True
        assert await at.talk.say("hi") == ["Who are you?"]
        at.talk.post("Ada")
        stopped = await at.editor.stopped()
        assert stopped["reason"] == "breakpoint"
        assert stopped["hitBreakpointIds"] == [found["id"]]
        assert await at.editor.where(stopped["threadId"]) == [("Main:02:QUE", FIND)]
        assert at.model.left == 1, "the other agent was not asked for anything yet"
        await at.editor.request("continue", threadId=stopped["threadId"])
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"


async def test_next_goes_from_step_to_step_over_what_a_step_calls(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(at.file, FIND)
        seen = []
        for _ in range(3):
            await at.editor.request("next", threadId=thread)
            stopped = await at.editor.stopped()
            assert (stopped["reason"], stopped["threadId"]) == ("step", thread)
            seen.append(await at.editor.where(thread))
        assert seen[:2] == [[("Main:03:QUE", COUNT)], [("Main:04:QUE", TELL)]]
        await at.editor.request("continue", threadId=thread)
        await at.idle()


async def test_stepping_in_comes_into_another_agent_and_out_of_it_again(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS, NAMED, PICKS) as at:
        host = await at.stand_at(at.file, FIND)
        await at.editor.request("stepIn", threadId=host)
        scout = (await at.editor.stopped())["threadId"]
        assert scout != host
        assert await at.editor.where(scout) == [("Find", 20), ("Host.Main:02:QUE", FIND)]
        await at.editor.request("next", threadId=scout)
        await at.editor.stopped()
        assert (await at.editor.where(scout))[0] == ("Find:01:EXE", PICK)
        await at.editor.request("next", threadId=scout)
        await at.editor.stopped()
        assert (await at.editor.where(scout))[0] == ("Find:02:RET", RETURN)
        await at.editor.request("stepOut", threadId=scout)
        stopped = await at.editor.stopped()
        assert stopped["threadId"] == host
        assert await at.editor.where(host) == [("Main:03:QUE", COUNT)]
        await at.editor.request("continue", threadId=host)
        await at.idle()
        assert at.talk.chat[-1] == "Oslo, 3"


async def test_calls_of_python_are_stood_at_in_the_file_that_was_imported(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    letters = tmp_path / "letters.txt"
    async with debugged(program, ASKS, NAMED, PICKS) as at:
        found = await at.editor.begin({letters: [3, 5]})
        assert [(one["verified"], one["line"]) for one in found] == [(True, 3), (True, 5)]
        await at.talk.say("hi")
        at.talk.post("Ada")
        thread = (await at.editor.stopped())["threadId"]
        assert await at.editor.where(thread) == [("Letters", 3), ("Main:03:QUE", COUNT)]
        await at.editor.request("next", threadId=thread)
        await at.editor.stopped()
        assert (await at.editor.where(thread))[0] == ("Letters", 4)
        await at.editor.request("continue", threadId=thread)
        await at.editor.stopped()
        frames = await at.editor.stack(thread)
        assert frames[0]["line"] == 5
        assert frames[0]["source"] == {"name": "letters.txt", "path": str(letters)}
        assert (await at.editor.scopes(frames[0]["id"]))["Locals"] == {"name": '"Ada"'}
        await at.editor.request("stepOut", threadId=thread)
        await at.editor.stopped()
        assert await at.editor.where(thread) == [("Main:04:QUE", TELL)]
        await at.editor.request("disconnect")
        await at.idle()


async def test_breakpoints_are_moved_to_the_nearest_step(tmp_path: Path) -> None:
    file, program = await guide_in(tmp_path)
    async with debugged(program) as at:
        found = await at.editor.begin({file: [ASK + 1, 14, 999]})
        assert [one["line"] for one in found] == [ASK, 20, RETURN]
        assert all(one["verified"] and "moved to line" in one["message"] for one in found)
        (nowhere,) = await at.editor.break_at(tmp_path / "letter.txt", 1)
        assert nowhere["verified"] is False
        assert "belongs to no program that is served here" in nowhere["message"]


async def test_where_there_are_no_steps_each_statement_is_one() -> None:
    chat = program_of(agent("Main", llm("Main", begins=True)))
    says = block('greeting = "Hello"', 'await Say("user", greeting)', 'await Yld("user")')
    async with debugged(chat, says) as at:
        await at.editor.begin(stopOnEntry=True)
        at.talk.post("hi")
        thread = (await at.editor.stopped())["threadId"]
        seen = []
        for _ in range(3):
            await at.editor.request("next", threadId=thread)
            await at.editor.stopped()
            (frame,) = await at.editor.stack(thread)
            seen.append(json.loads((await at.editor.scopes(frame["id"]))["Here"]["step"]))
        assert seen == ['greeting = "Hello"', 'await Say("user", greeting)', 'await Yld("user")']
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["Hello"]


MENU = """\
# Host

## Main
### Triggers
- When the program starts
### Steps
- Set $dishes to the menu
- For each $dish in $dishes
  - If $dish is "pie"
    - Praise the $dish to the user
  - Tell the user the $dish
- End program
"""

PRAISE, DISH = 10, 11

LISTS = Reply('{"dishes": ["soup", "pie"]}')
SERVES = (Reply("soup"), Reply("[1] The best pie!\n[2] pie"))


async def test_steps_of_a_loop_are_stood_at_in_every_round(tmp_path: Path) -> None:
    file = tmp_path / "menu.pb"
    file.write_text(MENU)
    program = (await compile_program([file], lowerer=RulesLowerer())).program
    async with debugged(program, LISTS, *SERVES) as at:
        await at.editor.begin({file: [PRAISE, DISH]})
        at.talk.post("hi")
        thread = (await at.editor.stopped())["threadId"]
        assert await at.editor.where(thread) == [("Main:02.02:QUE", DISH)]
        assert at.talk.chat == []
        seen = []
        for how in ("next", "next", "continue"):
            await at.editor.request(how, threadId=thread)
            await at.editor.stopped()
            seen += await at.editor.where(thread)
        assert seen == [("Main:02:CND", 8), ("Main:02.01:CND", 9), ("Main:02.01.01:QUE", PRAISE)]
        assert at.talk.chat == ["soup"]
        await at.editor.request("stepOut", threadId=thread)
        assert (await at.editor.stopped())["reason"] == "breakpoint"
        assert at.talk.chat == ["soup", "The best pie!"]
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["soup", "The best pie!", "pie"]


SALE = """\
# Shop

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for their $count:int
- Set $price to $count * 3
- Ask the user for their $street:str
- Say "{price} to {street}"
- End program
"""

PRICE = 8


async def test_a_step_to_which_a_correction_goes_back_is_stood_at_again(tmp_path: Path) -> None:
    file = tmp_path / "sale.pb"
    file.write_text(SALE)
    program = (await compile_program([file], lowerer=RulesLowerer())).program
    replies = (
        Reply("How many?"),
        Reply("Where to?"),
        Reply('{"does": "correct", "count": 2}'),
        Reply("Where to, then?"),
        Reply('{"does": "answer", "street": "Main Street"}'),
    )
    async with debugged(program, *replies) as at:
        await at.editor.begin()
        await at.editor.break_at(file, PRICE)
        await at.talk.say("hi")
        prices = []
        for said in ("5", "No, two."):
            at.talk.post(said)
            thread = (await at.editor.stopped())["threadId"]
            (frame,) = await at.editor.stack(thread)
            assert frame["name"] == "Main:02:EXE"
            prices.append((await at.editor.scopes(frame["id"]))["Agent Shop"].get("price"))
            await at.editor.request("continue", threadId=thread)
            await at.idle()
        assert prices == [None, "15"]
        await at.talk.say("Main Street")
        assert at.talk.chat == ["How many?", "Where to?", "Where to, then?", "6 to Main Street"]


async def test_a_free_step_is_stood_at_before_its_statements_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "dance.pb"
    file.write_text("# Dancer\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Frobnicate\n- End program\n")
    program = (await compile_program([file], lowerer=RulesLowerer())).program
    dances = block('steps = "left, right"', 'await Say("user", steps)')
    async with debugged(program, dances) as at:
        await at.editor.begin({file: [7]})
        at.talk.post("hi")
        thread = (await at.editor.stopped())["threadId"]
        assert (await at.editor.where(thread), at.model.left) == ([("Main:01:EXE", 7)], 1)
        await at.editor.request("next", threadId=thread, granularity="instruction")
        await at.editor.stopped()
        (frame,) = await at.editor.stack(thread)
        assert (await at.editor.scopes(frame["id"]))["Here"] == {"statement": json.dumps('steps = "left, right"')}
        assert at.talk.chat == []
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["left, right"]
