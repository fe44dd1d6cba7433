"""`Say` without a text, which nobody hears and for which no page is shown; what a program says last, before it ends."""

from pathlib import Path
from typing import Any

import pytest

from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, guest, hosted, notices
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program


@pytest.mark.parametrize("text", ['""', '"  \\n"', "pieces()", "pieces(' ', '')"])
@pytest.mark.parametrize("target", ["user", "Ada", "agent 1000"])
async def test_nothing_is_shown_and_nobody_hears_it(text: str, target: str) -> None:
    code = f"""
async def pieces(*parts):
    for part in parts:
        yield part

async def Main():
    value = await Say("{target}", {text})
    await Say("user", f"it gave {{value}}")
    await WaitForMessage("user")
"""
    silent = program(agent("Main", MAIN, code=code))
    async with talking(silent, Model()) as talk:
        assert await talk.say("go", private=False) == ["it gave None"]
        heard = [data["message"]["text"] for data in facts(talk, "in")]
    assert heard == []


async def test_nothing_in_a_meeting_is_no_part_of_what_was_said() -> None:
    code = 'await Say("meeting", "")\nawait Say("Guest", " ")\n'
    code += 'await Say("meeting", "please say hello")\nreturn await heard("hello")'
    talks = hosted(code, guest("Guest"), required_attendees=["Guest", "user"])
    async with talking(talks, Model()) as talk:
        assert await talk.say("go") == ["Meeting started", "please say hello", "hello", "Meeting has ended", "hello"]
        assert [data["message"]["text"] for data in facts(talk, "spoke")] == ["please say hello", "hello"]
        assert notices(talk, "Guest")[0] == "Meeting started"


async def test_nobody_is_waited_for_to_acknowledge_nothing() -> None:
    code = """
async def Main():
    got = await Say("user", "", ack_within_s=60)
    await Say("user", f"{got}")
"""
    asks = program(agent("Main", MAIN, code=code))
    assert await answered(asks, Model(), "go") == ["{'acknowledged': [], 'missing': []}"]


@pytest.mark.parametrize("said", ['""', '" "', 'f""'])
async def test_what_a_model_leaves_empty_is_not_shown(said: str) -> None:
    replies: list[Any] = [
        block(
            'await Step("Main:01:QUE")', f'await Say("user", {said})', 'await Say("user", "hello")', 'await Yld("user")'
        )
    ]
    asks = program(agent("Main", llm("Main", "01:QUE Greet; YLD for user", begins=True)))
    async with talking(asks, Model(*replies)) as talk:
        assert await talk.say("go", private=False) == ["hello"]
        assert len(facts(talk, "opening")) == 1


PROGRAM = """\
# Host
Says good-bye.

## Main
### Triggers
- When the program starts
### Steps
- Say "Good-bye"
- End program
"""


async def test_the_program_ends_with_its_last_words_and_nothing_fails_behind_them(tmp_path: Path) -> None:
    (tmp_path / "host.pb").write_text(PROGRAM)
    program = (await compile_program([tmp_path / "host.pb"], lowerer=RulesLowerer())).program
    async with talking(program, Model()) as talk:
        assert await talk.say("hi") == ["Good-bye"]
        assert len(facts(talk, "ended")) == 1
        assert [data for data in facts(talk, "res") if "exc" in data] == []
