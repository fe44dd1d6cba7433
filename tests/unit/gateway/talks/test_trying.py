"""What a scripted model answers to who tries a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.tree import Settings
from gateway.talks.trying import ScriptedModel, asked_by
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import LLMRefused
from runtime.llm.client import ChatMessage, CompletionRequest

pytestmark = pytest.mark.anyio

PROGRAM = """# Shop
Sells tea.

## Main
### Triggers
- At the beginning
### Steps
- Ask the user how $many:int cups they want
- Tell the user whether that is a lot
"""
TALKS = """## Few
- Shop writes: How many?
- Ada: two of them
- model: 2
- Shop writes: Not many.

## Many
- Shop writes: How many cups?
- Ada: a dozen
- model: 12
- Shop writes: That is a lot.
"""
PROGRAM_ASKS = "(From the program, not from a person.)\n"
WORDS = PROGRAM_ASKS + "Write the next message to the person. It must do this: {}. Only the message itself."
VALUE = (
    PROGRAM_ASKS + 'The person was asked: Ask the user how many cups they want. They wrote: "{}". What did they '
    "answer? Answer with many alone: a whole number (null if it was not given)."
)
HOW_MANY = WORDS.format("Ask the user how many cups they want")


def request(question: str) -> CompletionRequest:
    return CompletionRequest((ChatMessage("system", "You are Shop."), ChatMessage("user", question)))


class Trying:
    """A model that has read its talks, asked by one agent."""

    def __init__(self, folder: Path) -> None:
        (folder / "shop.pb").write_text(PROGRAM)
        self.file = folder / "shop.test.md"
        self.file.write_text(TALKS)
        self.told: list[str] = []
        self.model = ScriptedModel([self.file], Settings(), self.told.append)
        self.model.models(Bus(SystemClock()))
        self.model._agents["s", "1"] = "Shop"

    async def asks(self, question: str) -> str:
        self.model._asker = "s", "Shop"
        async with self.model.stream(request(question)) as pieces:
            return "".join([piece async for piece in pieces])


@pytest.fixture
async def trying(tmp_path: Path) -> Trying:
    made = Trying(tmp_path)
    await made.model.read()
    return made


async def test_words_of_a_talk_are_taken_in_order_and_the_talk_is_followed(trying: Trying) -> None:
    assert [await trying.asks(HOW_MANY) for _ in range(3)] == ["How many?", "How many cups?", "How many cups?"]
    assert trying.told[0] == "scripted  shop.test.md:2 answers Shop"


async def test_what_somebody_wrote_is_understood_as_in_the_talk_that_has_it(trying: Trying) -> None:
    assert await trying.asks(VALUE.format("A dozen")) == "12"
    assert await trying.asks(VALUE.format("two of them")) == "2"


async def test_what_no_talk_has_is_read_in_the_words(trying: Trying) -> None:
    assert await trying.asks(VALUE.format("make it 30")) == "30"
    assert await trying.asks(VALUE.format("hm")) == "null"
    for kind in ("a text", "its value"):
        assert await trying.asks(VALUE.format("a lot").replace("a whole number", kind)) == "a lot"


async def test_other_words_are_those_of_the_step_and_other_questions_are_refused(trying: Trying) -> None:
    assert await trying.asks(WORDS.format('Say that "$many" (now 3) is little')) == '[Say that "$many" is little.]'
    with pytest.raises(LLMRefused, match=r"No line answers Shop: Which one\?"):
        await trying.asks("Which one? Answer with one of these alone: a, b.")
    assert trying.told == ["scripted  No line answers Shop: Which one?"]


async def test_a_talk_that_is_saved_is_read_again_and_a_wrong_one_is_told_of(trying: Trying) -> None:
    trying.file.write_text(TALKS.replace("How many?", "How many, please?"))
    assert await trying.asks(HOW_MANY) == "How many, please?"
    trying.file.write_text("## Nothing\n")
    assert await trying.asks(HOW_MANY) == "How many cups?"
    assert "The talks stay as they were" in trying.told[1]


def test_a_question_is_the_same_whatever_is_known_and_was_wrong_with_the_last_answer() -> None:
    asked = asked_by("Shop", request(HOW_MANY))
    more = "Hello\n" + HOW_MANY.replace(
        "Write the", "Known: $a = 1\nYour last answer could not be used: x. Answer again.\nWrite the"
    )
    again = asked_by("Shop", request(more))
    assert (again.about, again.heard) == (asked.about, "Hello")
