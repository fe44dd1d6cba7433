"""A reply on its way into execution: resumed, repeated, refused, streamed."""

import random
from collections.abc import Sequence
from typing import Any, cast

import pytest

from runtime.execution.free.reply_run import MAX_STATEMENTS, ReplyRun
from runtime.execution.free.scope import Position
from runtime.execution.speech.live_stream import LiveStream
from runtime.llm.client import MAX_ANSWER_CHARS
from tests.unit.runtime.execution.free.test_verifier import position

STEP_1, STEP_2 = 'await Step("Main:01:QUE")', 'await Step("Main:02:QUE")'
HELLO = 'await Say("user", "Hello!")'


class Stream:
    """What people see of a Say."""

    def __init__(self) -> None:
        self.text = ""

    async def write(self, text: str) -> None:
        self.text += text


class Stage:
    """Executes by writing down. `fail_at` is what a test wants it to be."""

    def __init__(self, values: dict[str, Any] | None = None) -> None:
        self.ran: list[str] = []
        self.remarks: list[str] = []
        self.said: list[str] = []
        self.streams: list[Stream] = []
        self.fail_at = ""
        self._here = position()
        self._values = values or {}
        self._here.names |= set(self._values)

    async def accept(self, source: str, remarks: Sequence[str] = (), /) -> None:
        self.ran.append(source)
        self.remarks += remarks

    async def say_plainly(self, text: str, /) -> None:
        self.said.append(text)

    async def open_stream(self, target: str, /) -> LiveStream | None:
        self.streams.append(Stream())
        return cast("LiveStream", self.streams[-1])

    def position(self) -> Position:
        return self._here

    def value_of(self, name: str, /) -> Any:
        return self._values[name]

    @property
    def halted(self) -> bool:
        return bool(self.ran) and (self.ran[-1] == self.fail_at or self.ran[-1].startswith("await Yld"))


async def run(
    stage: Stage, lines: Sequence[str] | str, executed: Sequence[str] = (), seed: int = 0, *, may_end: bool = False
) -> ReplyRun:
    """Feed a reply in pieces of random size."""
    text = lines if isinstance(lines, str) else "```python\n" + "\n".join(lines) + "\n```"
    reply = ReplyRun(cast("Any", stage), executed, may_end=may_end)
    draw = random.Random(seed)
    while text and not reply.over:
        size = draw.randrange(1, 12)
        await reply.feed(text[:size])
        text = text[size:]
    if not reply.over:
        await reply.close()
    return reply


def rule(reply: ReplyRun) -> str:
    return reply.rejected.rule if reply.rejected is not None else "accepted"


async def test_statements_run_in_order_and_the_end_of_the_turn_last() -> None:
    stage = Stage()
    reply = await run(stage, ["# recap: it begins", STEP_1, "# trig? no", HELLO, 'await Yld("user")'])
    assert stage.ran == [STEP_1, HELLO, 'await Yld("user")']
    assert rule(reply) == "accepted"


async def test_what_is_remarked_before_a_statement_goes_along_with_it() -> None:
    stage = Stage()
    await run(stage, ["# recap: it begins", HELLO, "# plan: wait", 'await Yld("user")'])
    assert stage.remarks == ["recap: it begins", "plan: wait"]


async def test_nothing_runs_behind_an_illegal_statement() -> None:
    stage = Stage()
    reply = await run(stage, [STEP_1, 'await Step("Main:99:YLD")', HELLO])
    assert stage.ran == [STEP_1]
    assert rule(reply) == "step"


@pytest.mark.parametrize("more", ["x = 1", HELLO, 'await Yld("user")', "await Return(1)"])
async def test_a_turn_whose_end_is_followed_by_more_is_refused_and_does_not_end(more: str) -> None:
    stage = Stage()
    reply = await run(stage, [STEP_1, 'await Yld("user")', more])
    assert stage.ran == [STEP_1]
    assert stage.streams == []
    assert rule(reply) == "end"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("I do it: await Yld('user')", "format"),
        ("for n in names:\n  Say", "format"),
        ("from math import pi", "format"),
        ("def f(x", "format"),
        ("```python\n```", "end"),
        (f"```python\n{STEP_1}\n```", "end"),
        ("```python\nawait Say('user', 'x'\nawait Step()\n```", "parse"),
    ],
)
async def test_a_reply_that_does_not_end_its_turn_is_refused(text: str, expected: str) -> None:
    assert rule(await run(Stage(), text)) == expected


async def test_a_reply_of_plain_words_is_what_is_said() -> None:
    for seed in range(10):
        stage = Stage()
        reply = await run(stage, "I am sorry.\n\nI cannot do that.", seed=seed)
        assert rule(reply) == "accepted"
        assert [text.strip() for text in stage.said] == ["I am sorry.\n\nI cannot do that."]
        assert stage.ran == []


@pytest.mark.parametrize(
    "text",
    [
        "I await your answer.",
        "if you like, we can begin",
        "from Oslo\nfor two nights",
        "It holds:\nimport duties and tax",
    ],
)
async def test_words_that_code_has_too_are_said(text: str) -> None:
    stage = Stage()
    assert rule(await run(stage, text)) == "accepted"
    assert [said.strip() for said in stage.said] == [text]


async def test_words_around_a_block_are_not_said() -> None:
    stage = Stage()
    reply = await run(stage, f"Here it is:\n```python\n{HELLO}\nawait Yld('user')\n```\nThat was it.")
    assert rule(reply) == "accepted"
    assert stage.ran == [HELLO, "await Yld('user')"]
    assert stage.said == []


async def test_a_reply_that_needs_no_end_returns_where_it_has_none() -> None:
    stage = Stage()
    assert rule(await run(stage, [HELLO], may_end=True)) == "accepted"
    assert stage.ran == [HELLO, "await Return()"]
    waiting = Stage()
    assert rule(await run(waiting, [HELLO, 'await Yld("user")'], may_end=True)) == "accepted"
    assert waiting.ran == [HELLO, 'await Yld("user")']


async def test_text_is_streamed_while_it_is_written_and_equals_what_is_executed() -> None:
    say = r'await Say("user", "Zeile 1\nsaid \"hi\" \u00e4")'
    for seed in range(20):
        stage = Stage()
        await run(stage, [say, 'await Yld("user")'], seed=seed)
        assert stage.ran[0] == say
        assert [stream.text for stream in stage.streams] == ['Zeile 1\nsaid "hi" ä']


async def test_names_in_an_f_string_are_streamed_with_their_values() -> None:
    stage = Stage({"name": "Ada", "count": 3})
    await run(stage, ['await Say("user", f"Hi {name}, you are number {count}!")', 'await Yld("user")'])
    assert stage.streams[0].text == "Hi Ada, you are number 3!"


@pytest.mark.parametrize("value", [1.5, None, [1]])
async def test_a_value_whose_text_is_not_certain_stops_the_streaming_but_not_the_say(value: object) -> None:
    stage = Stage({"count": value})
    await run(stage, ['await Say("user", f"It is {count} now")', 'await Yld("user")'])
    assert stage.streams[0].text == "It is "
    assert len(stage.ran) == 2


async def test_an_unknown_name_stops_the_streaming() -> None:
    stage = Stage()
    await run(stage, ['await Say("user", f"Hi {name}!")', 'await Yld("user")'])
    assert stage.streams[0].text == "Hi "


async def test_a_say_to_a_stranger_is_refused_before_it_is_seen() -> None:
    stage = Stage()
    assert rule(await run(stage, ['await Say("Nobody", "secret")'])) == "target"
    assert stage.streams == []
    assert stage.ran == []


async def test_the_right_token_goes_on_behind_what_was_executed() -> None:
    stage = Stage()
    reply = await run(stage, ["# resume: 2", STEP_2, 'await Yld("user")'], [STEP_1, HELLO])
    assert stage.ran == [STEP_2, 'await Yld("user")']
    assert rule(reply) == "accepted"


@pytest.mark.parametrize("token", ["# resume: 1", "# resume: 3", "# resume: all", "# resume:"])
async def test_a_wrong_token_is_refused_before_anything_runs(token: str) -> None:
    stage = Stage()
    reply = await run(stage, [token, STEP_2, HELLO], [STEP_1, HELLO])
    assert stage.ran == []
    assert rule(reply) == "resume"


async def test_an_exact_repetition_is_skipped_whatever_its_blanks_and_quotes() -> None:
    stage = Stage()
    again = ["await Step('Main:01:QUE')", "await  Say( 'user', 'Hello!' )"]
    reply = await run(stage, [*again, STEP_2, HELLO, 'await Yld("user")'], [STEP_1, HELLO])
    assert stage.ran == [STEP_2, HELLO, 'await Yld("user")']
    assert len(stage.streams) == 1
    assert rule(reply) == "accepted"


async def test_a_repeated_assignment_with_a_dollar_is_the_executed_one() -> None:
    stage = Stage()
    first = await run(stage, ["$city = 'Oslo'"])
    assert stage.ran == ["city = await Var('city', 'Oslo')"]
    assert rule(first) == "end"
    again = Stage()
    await run(again, ["$city = 'Oslo'", 'await Yld("user")'], stage.ran)
    assert again.ran == ['await Yld("user")']


async def test_a_changed_repetition_is_refused_and_nothing_of_it_runs_or_is_shown() -> None:
    stage = Stage()
    reply = await run(stage, [STEP_1, 'await Say("user", "Hello there!")', STEP_2], [STEP_1, HELLO])
    assert stage.ran == []
    assert stage.streams == []
    assert rule(reply) == "resume"


async def test_a_repetition_that_stops_half_way_is_refused() -> None:
    stage = Stage()
    assert rule(await run(stage, [STEP_1], [STEP_1, HELLO])) == "resume"
    assert stage.ran == []


@pytest.mark.parametrize("executed", [[STEP_1, HELLO], ["x = 1", STEP_1]])
async def test_a_reply_may_not_go_on_without_a_token(executed: list[str]) -> None:
    stage = Stage()
    reply = await run(stage, [STEP_2, HELLO, 'await Yld("user")'], executed)
    assert rule(reply) == "resume"
    assert stage.ran == []
    assert stage.streams == []


async def test_plain_words_do_not_go_on_with_a_reply_that_broke_off() -> None:
    stage = Stage()
    assert rule(await run(stage, "Hello there!", [STEP_1, HELLO])) == "resume"
    assert stage.said == []


async def test_a_statement_that_fails_ends_the_reply() -> None:
    stage = Stage()
    stage.fail_at = "x = 1"
    reply = await run(stage, ["x = 1", HELLO, 'await Yld("user")'])
    assert stage.ran == ["x = 1"]
    assert reply.over
    assert rule(reply) == "accepted"


async def fed_without_end(stage: Stage, first: str, again: str) -> tuple[ReplyRun, int]:
    """Feed a reply that does not end by itself; how many characters were taken."""
    reply = ReplyRun(cast("Any", stage), [])
    await reply.feed(first)
    taken = len(first)
    while not reply.over and taken < 3_000_000:
        await reply.feed(again)
        taken += len(again)
    return reply, taken


@pytest.mark.parametrize(
    "first",
    ["```python\n# ", "```python\nx = [", '```python\nawait Say("user", """', "Let me think. "],
    ids=["a comment", "an expression", "words", "prose"],
)
async def test_a_reply_without_end_is_refused_when_it_is_too_long(first: str) -> None:
    reply, taken = await fed_without_end(Stage(), first, "   1,   ")
    assert rule(reply) == "length"
    assert taken <= MAX_ANSWER_CHARS + 10


async def test_a_turn_has_a_bounded_number_of_statements() -> None:
    stage = Stage()
    reply, _ = await fed_without_end(stage, "```python\n", HELLO + "\n")
    assert rule(reply) == "length"
    assert stage.ran == [HELLO] * MAX_STATEMENTS


async def test_statements_of_a_reply_that_broke_off_count_too() -> None:
    stage = Stage()
    lines = ["# resume: 199", HELLO, HELLO, 'await Yld("user")']
    reply = await run(stage, lines, executed=[HELLO] * (MAX_STATEMENTS - 1))
    assert rule(reply) == "length"
    assert stage.ran == [HELLO]
