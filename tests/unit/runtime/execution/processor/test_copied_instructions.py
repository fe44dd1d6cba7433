"""A model that writes its instruction instead of carrying it out."""

from collections.abc import AsyncIterator

import pytest

from runtime.execution.questions.asking import CopiedInstruction, not_copied
from runtime.language.instructions.direct_speech import is_instruction
from tests.unit.runtime.execution.processor.walking import answers, main

ASKS = "Ask the user which pizza they want"
TELLS = main("- Tell the user that we are closed on Mondays", "- End program")


async def pieces_of(text: str, chars: int) -> AsyncIterator[str]:
    for at in range(0, len(text), chars):
        yield text[at : at + chars]


@pytest.mark.parametrize("chars", [1, 7, 200])
@pytest.mark.parametrize("copy", [ASKS, f'"{ASKS}."', ASKS.upper(), f"  {ASKS}\n"])
async def test_a_copied_instruction_shows_nothing(copy: str, chars: int) -> None:
    with pytest.raises(CopiedInstruction):
        await anext(not_copied(pieces_of(copy, chars), [ASKS]))


@pytest.mark.parametrize(
    ("honest", "instruction"),
    [
        ("Which pizza would you like?", ASKS),
        ("Ask", ASKS),
        (f"{ASKS}: margherita or funghi?", ASKS),
    ],
)
@pytest.mark.parametrize("chars", [1, 7, 200])
async def test_honest_words_arrive_whole(honest: str, instruction: str, chars: int) -> None:
    assert "".join([piece async for piece in not_copied(pieces_of(honest, chars), [instruction])]) == honest


async def test_honest_words_are_not_held_back_beyond_the_first_letter_that_differs() -> None:
    came: list[str] = []

    async def told() -> AsyncIterator[str]:
        for piece in ("As", " you", " like"):
            came.append(piece)
            yield piece

    shown = not_copied(told(), [ASKS])
    assert await anext(shown) == "As you"
    assert came == ["As", " you"]


@pytest.mark.parametrize("label", ["", "The person: "])
async def test_a_copied_instruction_is_corrected_once_before_words_reach_people(label: str) -> None:
    copy = f"{label}Tell the user that we are closed on Mondays."
    assert await answers(TELLS, copy, "We are closed on Mondays.") == ["We are closed on Mondays."]


@pytest.mark.parametrize("words", ["Thank you, come again", "Tell me more about it", "Welcome to the shop", "Ask"])
def test_words_that_may_be_the_message_are_no_instruction(words: str) -> None:
    assert not is_instruction(words)


async def test_a_model_that_insists_is_taken_at_its_word() -> None:
    copy = "Tell the user that we are closed on Mondays."
    assert await answers(TELLS, copy, copy) == [copy]


@pytest.mark.parametrize("waits", ["25 minutes", "$minutes minutes", "$minutes (now 25) minutes"])
async def test_a_copy_with_the_values_of_its_variables_is_one_too(waits: str) -> None:
    tells = main("- Set $minutes to 25", "- Tell the user that it takes $minutes minutes", "- End program")
    copy = f"Tell the user that it takes {waits}."
    assert await answers(tells, copy, "It takes 25 minutes.") == ["It takes 25 minutes."]
