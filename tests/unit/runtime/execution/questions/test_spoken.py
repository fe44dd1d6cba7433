"""The words of a message while they are written: what models put around them is taken off, values are filled in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.execution.questions.question import WrongAnswer
from runtime.execution.questions.spoken import Spoken, spoken

pytestmark = pytest.mark.anyio

VALUES = {"name": "Ada", "order.total": "40", "order": "an order", "said": "{name}"}


def shown(*pieces: str, speaker: str = "") -> str:
    words = Spoken(VALUES.get, speaker)
    return "".join([*(words.feed(piece) for piece in pieces), words.end()])


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Hello!", "Hello!"),
        ("  Hello!\n\n", "Hello!"),
        ("Hello!\n\nHow are you?", "Hello!\n\nHow are you?"),
        ('"Hello!"', "Hello!"),
        ('"Hello!" \n', "Hello!"),
        ('He said "hello"', 'He said "hello"'),
        ('"Hamlet" is a play', '"Hamlet" is a play'),
        ('"Hamlet" and "Lear"', '"Hamlet" and "Lear"'),
        ('Say("user", "Hello!")', "Hello!"),
        ("await Say('user', 'Hello!')", "Hello!"),
        ('await self.Say("user", f"Hello {name}!")', "Hello Ada!"),
        ('Say(user, "It\'s (a) test")', "It's (a) test"),
        ('Say("user", """Two\nlines""")', "Two\nlines"),
        ('Say("user", "a \\"word\\"\\nand more")', 'a "word"\nand more'),
        ('```python\nawait Say("user", "Hello!")\n```', "Hello!"),
        ('```\nSay("user", "Hello!")\n\n\n\n\n```\n', "Hello!"),
        ('Say("user", "Hello!")\nawait Yld("user")', "Hello!"),
        ("Say hello to them", "Say hello to them"),
        ("await the reply", "await the reply"),
        ("Say(", "Say("),
        ("```\nx = 1\n```", "```\nx = 1\n```"),
        ("It costs {order.total}, {$name}.", "It costs 40, Ada."),
        ("It is { name }", "It is Ada"),
        ("{nobody} and {} and {a b}", "{nobody} and {} and {a b}"),
        ("{said}", "{name}"),
        ("an open {name", "an open {name"),
        ('{"json": 1}', '{"json": 1}'),
        ("", ""),
    ],
)
def test_what_stands_around_the_words_is_taken_off(written: str, seen: str) -> None:
    assert shown(written) == seen
    assert shown(*written) == seen


@pytest.mark.parametrize("written", ["Host: Hello!", "host:Hello!", 'HOST:  "Hello!"', 'Host: Say("user", "Hello!")'])
def test_the_name_of_the_speaker_is_taken_off(written: str) -> None:
    assert shown(written, speaker="Host") == shown(*written, speaker="Host") == "Hello!"


def test_another_name_stays() -> None:
    assert shown("Hosting: a guide", speaker="Host") == "Hosting: a guide"
    assert shown("Note: hello", speaker="Host") == "Note: hello"


AROUND = (
    'await self.Say("user", """',
    '```python\nSay("user", "',
    'Say(user, f"',
    'Ada: "',
    "{order.total}",
    '")\n```',
)
TEXTS = st.text(alphabet='abSayuser(",\')\\n{}name.$`: \n-"', max_size=60) | st.sampled_from([*AROUND, "\\n", '\\"'])
PARTS = st.lists(TEXTS, max_size=5).map("".join)


@given(PARTS, st.lists(st.integers(1, 12), min_size=1, max_size=20))
@settings(max_examples=1500, deadline=None)
@example('Say("user", "\\\\n")', [1])
@example('"""', [1])
@example("self.Say(a, 'b')", [2])
@example('Ada:  "b"', [1])
def test_how_the_words_were_cut_makes_no_difference(text: str, sizes: list[int]) -> None:
    pieces, at, number = [], 0, 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        pieces.append(text[at : at + size])
        at, number = at + size, number + 1
    assert shown(*pieces, speaker="Ada") == shown(text, speaker="Ada")


def test_plain_words_are_shown_as_they_come() -> None:
    words = Spoken(VALUES.get, "Host")
    assert [words.feed(piece) for piece in ("Good", " mor", "ning, {na", "me}", "!")] == [
        "Good",
        " mor",
        "ning,",
        " Ada",
        "!",
    ]


async def said(*pieces: str, may_be_silent: bool = False) -> list[str]:
    async def come() -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    return [text async for text in spoken(come(), Spoken(VALUES.get), may_be_silent=may_be_silent)]


@pytest.mark.parametrize("pieces", [(), ("",), (" ", "\n"), ("-",), ("-", " "), ('"', '"')])
async def test_a_message_without_words_is_refused_or_said_by_nobody(pieces: tuple[str, ...]) -> None:
    assert await said(*pieces, may_be_silent=True) == []
    with pytest.raises(WrongAnswer, match="empty"):
        await said(*pieces)


async def test_a_message_may_begin_with_a_dash() -> None:
    assert "".join(await said("- tea\n", "- jam")) == "- tea\n- jam"
