"""Faults that the first implementation of the language has in executing replies: none of them is here."""

import pytest

from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.execution.free.test_reply_run import Stage, run
from tests.unit.runtime.sessions.programs import agent, llm, program, python

CODE = """
async def Answer(messages):
    await Say("Main", f"an echo of {messages}")
"""


def talker() -> Program:
    main = llm("Main", "01:EXE Go; YLD for user unless told to end", begins=True)
    return program(
        agent("Main", main), agent("Other", python("Answer", "messages", trigger="EVT When asked"), code=CODE)
    )


def going(*lines: str, end: str = 'await Yld("user")') -> Reply:
    return block('await Step("Main:01:EXE")', *lines, end)


async def test_everything_that_one_reply_says_arrives_also_behind_what_was_streamed() -> None:
    model = Model(
        going(
            "n = 2",
            'await Say("user", "first, in full")',
            'await Say("user", f"second {n}")',
            'await Say("Other", "third")',
            'if n == 2:\n    await Say("user", "fourth")',
            end='await Yld("agent 1001")',
        ),
        going('await Say("user", "last")'),
    )
    assert await answered(talker(), model, "hi") == ["first, in full", "second 2", "fourth", "last"]
    assert "an echo of third" in model.told(1)


@pytest.mark.parametrize(
    ("say", "text"),
    [
        (r'await Say("user", "a line\nsaid \"so\")")', 'a line\nsaid "so")'),
        ("await Say('user', 'single \\'quotes\\'')", "single 'quotes'"),
        ('await Say("user", f"{name} has {{braces}}")', "Ada has {braces}"),
        ('await Say("user", "{no placeholder}")', "{no placeholder}"),
        ('await Say(\n    "user",\n    "over lines",\n)', "over lines"),
        ('await Say("user", """three\n"quotes" """)', 'three\n"quotes" '),
        ('await Say("user", message="by name")', "by name"),
    ],
)
async def test_a_text_is_streamed_however_it_is_written_and_as_it_reads(say: str, text: str) -> None:
    stage = Stage({"name": "Ada"})
    reply = await run(stage, ["if name:\n    x = 1", say, 'await Yld("user")'])
    assert reply.rejected is None
    assert [stream.text for stream in stage.streams] == [text]


async def test_nothing_runs_behind_the_end_of_a_turn_or_of_a_playbook() -> None:
    ends = going('await Var("__", "x")', "await Return(1)", 'await Say("user", "too late")')
    good = block("# resume: 2", "await Return(1)")
    async with talking(talker(), Model(ends, good)) as talk:
        assert await talk.say("hi") == []
        assert [event.data["rule"] for event in talk.named("step.rejected")] == ["end"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('await Step("Main:99:EXE")', "step"),
        ("x = self.program", "name"),
        ("self.state = 1", "policy"),
        ("secret", "name"),
        ('x = open("/etc/hostname").read()', "policy"),
        ("import os", "policy"),
        ('x = "".__class__.__mro__', "policy"),
        ('await self.Say("user", "x")', "name"),
    ],
)
async def test_what_may_not_run_is_refused_aloud_and_not_left_out(line: str, rule: str) -> None:
    async with talking(talker(), Model(going(line), block("# resume: 1", 'await Yld("user")'))) as talk:
        assert await talk.say("hi") == []
        assert [event.data["rule"] for event in talk.named("step.rejected")] == [rule]


async def test_a_wait_for_a_person_lasts_until_they_answer() -> None:
    model = Model(going('await Say("user", "Well?")'), going('await Say("user", "At last.")'))
    async with talking(talker(), model) as talk:
        assert await talk.say("hi") == ["Well?"]
        await talk.world.clock.sleep_until(talk.world.clock.monotonic() + 7 * 86_400)
        assert await talk.say("here I am") == ["At last."]
    assert len(model.asked) == 2


async def test_a_reply_that_never_gets_right_ends_and_says_why() -> None:
    wrong = going("import os")
    (said,) = await answered(talker(), Model(wrong, wrong), "hi")
    assert "Main failed: the language model gave no usable answer." in said


async def test_a_name_of_nobody_is_an_error_and_not_a_message_to_the_person() -> None:
    async with talking(
        talker(), Model(going('await Say("agent 1099", "psst")'), block("# resume: 1", 'await Yld("user")'))
    ) as talk:
        assert await talk.say("hi") == []
        assert [event.data["rule"] for event in talk.named("step.rejected")] == ["target"]


async def test_a_list_cannot_become_the_value_of_a_number() -> None:
    main = llm("Main", "01:EXE Set $count:int; YLD for user unless told to end", begins=True)
    model = Model(
        going('parts = ["1"]', 'await Var("count", parts)'),
        block("# resume: 3", 'await Var("count", "3")', 'await Say("user", f"{count + 1}")', 'await Yld("user")'),
    )
    assert await answered(program(agent("Main", main)), model, "hi") == ["4"]
    assert "$count is declared int; ['1'] is list" in model.told(1)
