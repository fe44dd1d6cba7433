"""A message that broke off and its rest become one text, whatever a model repeats, and however its reply is cut."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.execution.speech.joint import LEAST_CHARS, beginning, joined

pytestmark = pytest.mark.anyio

STANDS = "The river rises in the hills behind the old mill, and from there it ru"
BEGUN = "The river rises in the hills behind the old mill, and from there it "
REST = "runs down to the sea, which it reaches after nine days."
WHOLE = BEGUN + REST


async def text_of(rest: str, piece: int, stands: str = STANDS) -> str:
    async def pieces() -> AsyncIterator[str]:
        for at in range(0, len(rest), piece):
            yield rest[at : at + piece]

    return "".join([part async for part in joined(stands, pieces())])


def test_what_is_gone_on_with_ends_with_a_whole_word() -> None:
    assert beginning(STANDS) == BEGUN
    assert beginning(BEGUN) == BEGUN
    assert beginning("word\n" * 20 + "half") == "word\n" * 20


@pytest.mark.parametrize(
    "stands", ["", "Hello, how are y", "x" * 500, "a" * (LEAST_CHARS - 2) + " and", "水は低きに流れる。" * 30]
)
def test_what_is_too_short_or_has_no_words_is_written_anew(stands: str) -> None:
    assert beginning(stands) == ""


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    "rest",
    [
        REST,
        f"  {REST}",
        WHOLE,
        f"it {REST}",
        f"from there it {REST}",
        f"{BEGUN[4:]}{REST}",
    ],
    ids=["the rest alone", "with blanks", "all of it", "the last word", "the last words", "nearly all of it"],
)
async def test_it_is_whole_and_nothing_stands_there_twice(rest: str, piece: int) -> None:
    assert await text_of(rest, piece) == WHOLE


@pytest.mark.parametrize("piece", [1, 7, 1000])
async def test_the_message_from_its_beginning_in_other_words_is_the_message(piece: int) -> None:
    again = "The river rises in the hills and flows to the sea."
    assert await text_of(again, piece) == again


@pytest.mark.parametrize("piece", [1, 1000])
async def test_where_nothing_was_missing_what_stands_is_the_message(piece: int) -> None:
    assert await text_of("", piece, f"{STANDS}ns. ") == f"{STANDS}ns."
    assert await text_of(BEGUN.rstrip(), piece, BEGUN) == BEGUN.rstrip()
    assert await text_of(BEGUN[:30].rstrip(), piece, BEGUN) == BEGUN.rstrip()


@pytest.mark.parametrize("piece", [1, 1000])
async def test_a_word_that_only_begins_as_the_last_one_is_no_repetition(piece: int) -> None:
    assert await text_of("items are here.", piece) == f"{BEGUN}items are here."
    assert await text_of("The end.", piece) == f"{BEGUN}The end."


@pytest.mark.parametrize("piece", [1, 1000])
async def test_lines_of_a_list_stay_lines(piece: int) -> None:
    stands = "- the first of these things is what you think it is, and more\n- the sec"
    assert await text_of("second is not\n- the third is neither", piece, stands) == (
        "- the first of these things is what you think it is, and more\n- the second is not\n- the third is neither"
    )
