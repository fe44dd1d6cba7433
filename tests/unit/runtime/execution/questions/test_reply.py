"""A reply that answers several questions: its labels, its pieces, and what is missing in it."""

from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.execution.questions.reply import Begin, MissingAnswer, QuestionReply, Sections
from runtime.llm.client import MAX_ANSWER_CHARS


def divided(asked: int, *pieces: str) -> dict[int, str]:
    """The answers by their numbers."""
    sections = Sections(asked)
    found: dict[int, str] = {}
    at = 0
    for part in [*(part for piece in pieces for part in sections.feed(piece)), *sections.feed("", final=True)]:
        if isinstance(part, Begin):
            assert part.number > at, "answers come in their order"
            at = part.number
            found[at] = ""
        else:
            found[at] += part
    return {number: text.strip() for number, text in found.items()}


@pytest.mark.parametrize(
    ("asked", "reply", "answers"),
    [
        (1, "Hello!", {1: "Hello!"}),
        (1, "[1] Hello!", {1: "Hello!"}),
        (1, "[1] Hello!\n[2] yes\n[7] a book", {1: "Hello!", 2: "yes\n[7] a book"}),
        (2, "[1] Hello!\n[2] yes", {1: "Hello!", 2: "yes"}),
        (2, "Hello!\n[2] yes", {1: "Hello!", 2: "yes"}),
        (2, "\n\n  [1]: Hello!\n\n**[2]** yes\n", {1: "Hello!", 2: "yes"}),
        (2, "**[1]:** Hello!\n[2]yes", {1: "Hello!", 2: "yes"}),
        (3, "[1] a\n[3] c", {1: "a", 3: "c"}),
        (2, "[2] yes", {2: "yes"}),
        (2, "Sure, here it is:\n[1] Hello!\n[2] yes", {1: "Sure, here it is:\nHello!", 2: "yes"}),
        (2, "[1] a\n[1] b\n[2] c", {1: "a\n[1] b", 2: "c"}),
        (2, "[1] a\n[2] b\n[2] c", {1: "a", 2: "b\n[2] c"}),
        (2, "[2] b\n[1] a", {2: "b"}),
        (2, "[1] a\n[2] b\n[1] a\n[2] b", {1: "a", 2: "b"}),
        (2, "```\n[1] a\n[2] b\n```", {1: "a", 2: "b"}),
        (2, "[1] ```\na\n```\n[2] b", {1: "```\na\n```", 2: "b"}),
        (2, "[17] a\n[27] b", {}),
        (1, "[17] a", {1: "[17] a"}),
        (2, "[1] See [2] and [3].\n[2] b", {1: "See [2] and [3].", 2: "b"}),
        (2, "[1] Sources:\n[7] a book\n[99] another\n[2] b", {1: "Sources:\n[7] a book\n[99] another", 2: "b"}),
        (1, "Sources:\n[1] a book\n[2] another", {1: "Sources:\n[1] a book\n[2] another"}),
        (2, "[1] [1, 2]\n[2] [3]", {1: "[1, 2]", 2: "[3]"}),
        (2, "[0] a\n[1] b", {1: "[0] a\nb"}),
        (2, "[1]\n[2]", {1: "", 2: ""}),
        (2, "[", {1: "["}),
        (2, "[1", {1: "[1"}),
        (2, "[123] a", {1: "[123] a"}),
        (2, "", {}),
        (2, " \n\t\n", {}),
    ],
)
def test_labels_at_the_beginning_of_lines_divide_a_reply(asked: int, reply: str, answers: dict[int, str]) -> None:
    assert divided(asked, reply) == answers


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    pieces, at = [], 0
    for number in range(len(text)):
        pieces.append(text[at : at + sizes[number % len(sizes)]])
        at += len(pieces[-1])
    return [piece for piece in pieces if piece]


LINES = st.text(alphabet="[]*: \n\t0123ab", max_size=30) | st.sampled_from(["[1] a", "**[2]** b", "\n[3]: c\n", "[12]"])
SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=10)


@given(st.lists(LINES, max_size=6).map("\n".join), st.integers(1, 4), SIZES)
@settings(max_examples=1500, deadline=None)
def test_how_a_reply_was_cut_makes_no_difference(text: str, asked: int, sizes: list[int]) -> None:
    assert divided(asked, *cut(text, sizes)) == divided(asked, text)


async def pieces(text: str, size: int = 3) -> AsyncGenerator[str, None]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


async def test_an_answer_that_nobody_wants_is_passed_over() -> None:
    reply = QuestionReply(pieces("[1] a\n[2] b\n[3] c"), 3)
    assert await reply.answer(1, 100) == "a"
    assert await reply.answer(3, 100) == "c"


async def test_a_missing_answer_is_said_and_what_follows_it_stays() -> None:
    reply = QuestionReply(pieces("[1] a\n[3] c"), 3)
    assert await reply.answer(1, 100) == "a"
    with pytest.raises(MissingAnswer):
        await reply.answer(2, 100)
    assert await reply.answer(3, 100) == "c"
    with pytest.raises(MissingAnswer):
        await reply.answer(4, 100)


async def test_words_come_before_the_reply_has_ended() -> None:
    reply = QuestionReply(pieces("[1] Good morning to you\n[2] yes", 5), 2)
    words = reply.words(1)
    first = await anext(words)
    assert first
    assert reply.chars < len("[1] Good morning to you\n[2] yes")


async def test_a_long_answer_is_cut_and_the_next_one_is_found() -> None:
    reply = QuestionReply(pieces("[1] " + "a" * 5000 + "\n[2] b", 100), 2)
    assert len(await reply.answer(1, 1000)) < 1200
    assert await reply.answer(2, 1000) == "b"


async def test_a_reply_without_end_is_cut_off() -> None:
    async def endless() -> AsyncGenerator[str, None]:
        while True:
            yield "a" * 1000

    reply = QuestionReply(endless(), 1)
    length = 0
    async for words in reply.words(1):
        length += len(words)
    assert length <= MAX_ANSWER_CHARS + 1000
