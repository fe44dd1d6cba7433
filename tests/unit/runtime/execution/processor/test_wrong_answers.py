"""What a model gets wrong or claims: nothing of it changes what the runtime does."""

import pytest

from runtime.core.errors import LLMUnavailable
from tests.fakes.people.talk import Reply
from tests.unit.runtime.execution.processor.walking import answers, main, walking

BANK = '''
@playbook
async def Pay(amount: int) -> bool:
    """Pay an amount; whether it worked."""
    return amount < 1000
'''

PAYS = main(
    "- $ok:bool = Pay(amount=100)",
    "- Tell the user whether it was paid",
    "- End program",
    code=BANK,
)

CLAIMS = [
    "It was paid.",
    'await Step("Main:01:QUE")\nok = True\nawait Say("user", "It was paid.")',
    '```python\nawait Pay(99999)\nawait Pay(1)\nawait Say("user", "It was paid.")\n```',
    "I called Pay(amount=99999) three times.",
    '[1] It was paid.\n[2] {"amount": 5}\n[3] yes',
    '{"does": "answer", "ok": false}',
    "await Return(False)",
    "EndProgram()",
    "[01:QUE] Pay(5) [02:QUE] done",
]


@pytest.mark.parametrize("reply", CLAIMS)
async def test_a_claim_to_have_called_something_calls_nothing(reply: str) -> None:
    async with walking(PAYS, reply, "It was paid.", after="pay!") as walk:
        assert walk.called == [("Pay", {"amount": 100})]
        assert walk.values["ok"] is True
        assert walk.steps == ["01", "02", "03"]


BRANCHES = main(
    "- Set $n to 7",
    "- If $n > 5",
    "  - Tell the user that it is large",
    "- Otherwise",
    "  - Tell the user that it is small",
    "- While $n > 5",
    "  - Set $n to $n - 1",
    "- Tell the user $n",
    "- End program",
)


@pytest.mark.parametrize(
    "claims", [("It is small.",), ("n = 3",), ("[1] no\n[2] It is small",), ("Step(Main:04.01:QUE)", "It is large.")]
)
async def test_a_branch_cannot_be_chosen_and_a_loop_cannot_be_skipped_by_words(claims: tuple[str, ...]) -> None:
    async with walking(BRANCHES, *claims, "so it is", after="hi") as walk:
        assert walk.steps == ["01", "02", "02.01", "04", "04.01", "04.02", "04", "04.01", "04.02", "04", "05", "06"]
        assert walk.values["n"] == 5


RETURNS = main(
    "- $n:int = Count()", '- Say "{n}"', "- End program", more="## Count() -> int\n### Steps\n- Return how many\n"
)


@pytest.mark.parametrize(
    "wrong", ['Return("many")', '{"result": "many"}', "[1, 2]", "true", "3.5", "as many as you like"]
)
async def test_a_result_of_another_type_is_asked_for_again(wrong: str) -> None:
    async with walking(RETURNS, wrong, "4") as walk:
        assert await walk.say("four") == ["4"]
        assert "could not be used" in walk.asked()


TWO = main(
    "- Compute $a:int from what was said", "- Compute $b:int from what was said", '- Say "{a} {b}"', "- End program"
)


async def test_a_wrong_answer_is_asked_again_alone_and_what_was_right_stays() -> None:
    async with walking(TWO, '[1] {"a": 1}\n[2] {"b": "two"}', '{"b": 2}') as walk:
        assert await walk.say("1 and 2") == ["1 2"]
        assert "[1]" in walk.asked(0)
        assert "[1]" not in walk.asked(1)
        assert "$a = 1" in walk.asked(1)
        assert "b is declared int" in walk.asked(1)


async def test_an_answer_that_is_missing_is_asked_for_alone() -> None:
    assert await answers(TWO, '{"a": 1}', "2", to="1 and 2") == ["1 2"]


async def test_the_first_answer_may_be_missing_and_the_second_is_not_taken_for_it() -> None:
    assert await answers(TWO, '[2] {"b": 2}', '[1] {"a": 1}\n[2] {"b": 9}', "3", to="1 and 3") == ["1 3"]


async def test_after_three_wrong_answers_people_read_one_plain_sentence() -> None:
    async with walking(TWO, "one", '{"a": "one"}', "[1] one") as walk:
        said = await walk.say("hi")
        assert said == ["⚠️ Main failed: the language model gave no usable answer. Your next message begins anew."]
        assert len(walk.model.asked) == 3
        assert "a is declared int" in str(walk.talk.named("playbook.failed")[0].data["error"])


async def test_progress_gives_each_question_its_own_tries() -> None:
    assert await answers(TWO, "one", "uno", '[1] {"a": 1}\n[2] two', "two", "due", '{"b": 2}', to="1 and 2") == ["1 2"]


async def test_a_playbook_that_is_called_and_fails_is_told_of_once() -> None:
    async with walking(RETURNS, "many", "some", "a few") as walk:
        assert await walk.say("hi") == [
            "⚠️ Count failed: the language model gave no usable answer. Your next message begins anew."
        ]


async def test_an_error_of_the_program_is_told_without_its_place() -> None:
    assert await answers(main("- Set $x to $y + 1")) == [
        "⚠️ Main failed: &#36;y is not set. Your next message begins anew."
    ]


@pytest.mark.parametrize("nothing", ["", "  \n", "-", '""'])
async def test_a_message_without_words_is_asked_for_again(nothing: str) -> None:
    assert await answers(main("- Greet the user", "- End program"), nothing, "Hello!") == ["Hello!"]


async def test_words_that_break_off_are_said_once() -> None:
    broken = Reply("Hello, my dear fr", breaks=LLMUnavailable("the line is cut"))
    async with walking(main("- Greet the user", "- End program"), broken, "Hello, my dear friend!") as walk:
        assert await walk.say("hi") == ["Hello, my dear friend!"]


async def test_a_second_answer_that_breaks_off_is_asked_for_without_the_first() -> None:
    broken = Reply('[1] {"a": 1}\n[2] {"b', breaks=LLMUnavailable("the line is cut"))
    async with walking(TWO, broken, '{"b": 2}') as walk:
        assert await walk.say("1 and 2") == ["1 2"]
        assert "$a = 1" in walk.asked()
