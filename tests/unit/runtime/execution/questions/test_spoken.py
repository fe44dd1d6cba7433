"""The words of a message while they are written: what models put around them is taken off, values are filled in."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.execution.questions.form import WrongAnswer
from runtime.execution.questions.spoken import SpeechCleaner, spoken

VALUES = {"name": "Ada", "order.total": "40", "order": "an order", "said": "{name}"}


def shown(*pieces: str, speaker: str = "") -> str:
    words = SpeechCleaner(VALUES.get, speaker)
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
        ("```\nx = 1\nIt is one.\n```", "```\nx = 1\nIt is one.\n```"),
        ("```python\nprint('Hello!')  # Greets.\n```", "```python\nprint('Hello!')  # Greets.\n```"),
        ("```\nHello Ada!\n```", "Hello Ada!"),
        ("``` \n\nHello Ada.\nHow are you?\n``` \n", "Hello Ada.\nHow are you?"),
        ("```\nHello Ada. ```", "Hello Ada."),
        ("```markdown\n# Today\n- one\n```", "# Today\n- one"),
        ("```\nHello {name}.\n```\nAnd more.", "Hello Ada.\n```\nAnd more."),
        ("`x` is a name", "`x` is a name"),
        ("```", "```"),
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


@pytest.mark.parametrize("name", ["", "Host: "])
def test_a_repeated_beginning_of_the_question_is_taken_off(name: str) -> None:
    assert shown(f"(From the program, not from a person.)\n{name}Hello!", speaker="Host") == "Hello!"
    assert shown("(From the program, not from a person.)", speaker="Host") == ""
    assert shown("(From here it is far.)", speaker="Host") == "(From here it is far.)"


def test_another_name_stays() -> None:
    assert shown("Hosting: a guide", speaker="Host") == "Hosting: a guide"
    assert shown("Note: hello", speaker="Host") == "Note: hello"


AROUND = (
    "(From the program, not from a person.)",
    "```\nHello.\n```",
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
@example('Say("user", """\\{order.total}', [1])
@example('Ada:  "b"', [1])
def test_how_the_words_were_cut_makes_no_difference(text: str, sizes: list[int]) -> None:
    pieces, at, number = [], 0, 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        pieces.append(text[at : at + size])
        at, number = at + size, number + 1
    assert shown(*pieces, speaker="Ada") == shown(text, speaker="Ada")


@pytest.mark.parametrize("blank", [" ", "\n", "\t \n"])
@pytest.mark.parametrize("around", ["{}", '"{}"', 'Say("user", "{}")', "```text\n{}\n```"])
def test_blanks_without_end_are_read_once(blank: str, around: str) -> None:
    """Were each blank a place to begin a search from, this would take hours."""
    words = f"One{blank * 200_000}two"
    written = around.format(words)
    assert shown(*(written[at : at + 4_000] for at in range(0, len(written), 4_000))) == words


def test_plain_words_are_shown_as_they_come() -> None:
    words = SpeechCleaner(VALUES.get, "Host")
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

    return [text async for text in spoken(come(), SpeechCleaner(VALUES.get), may_be_silent=may_be_silent)]


@pytest.mark.parametrize(
    "pieces",
    [("await Yld('user')",), ("Ste", 'p("Main:01:QUE")'), ("Return", "(3)"), (" Var", "('x', 1)\nHello")],
)
async def test_statements_are_no_words(pieces: tuple[str, ...]) -> None:
    with pytest.raises(WrongAnswer, match="no code"):
        await said(*pieces)


@pytest.mark.parametrize(
    "text", ["None of us", "Nullify it", "Step by step", "Return it", "await the reply", "N", "Var"]
)
async def test_words_that_begin_like_statements_are_said(text: str) -> None:
    assert "".join(await said(text)) == text
    assert "".join(await said(*text)) == text


@pytest.mark.parametrize(
    "pieces", [(), ("",), (" ", "\n"), ("-",), ("-", " "), ('"', '"'), ("null",), ("nu", "ll"), ("None", "\n")]
)
async def test_a_message_without_words_is_refused_or_said_by_nobody(pieces: tuple[str, ...]) -> None:
    assert await said(*pieces, may_be_silent=True) == []
    with pytest.raises(WrongAnswer, match="empty"):
        await said(*pieces)


async def test_a_message_may_begin_with_a_dash() -> None:
    assert "".join(await said("- tea\n", "- jam")) == "- tea\n- jam"
