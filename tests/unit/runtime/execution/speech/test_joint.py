"""What people have read stays, whatever comes after it; a reply that says it again is said once."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.execution.speech.joint import NEARLY_ALL, Joint, beginning
from tests.unit.runtime.execution.speech.alike import IN_A_ROW, TEXTS

STANDS = "The river rises in the hills behind the old mill, and from there it ru"
BEGUN = "The river rises in the hills behind the old mill, and from there it "
REST = "runs down to the sea, which it reaches after nine days."
WHOLE = BEGUN + REST
UNALIKE = [text for text in TEXTS.values() if text not in IN_A_ROW]

_WORDS = st.lists(
    st.sampled_from(
        [
            "la",
            "river",
            "The",
            "Answer",
            "line",
            "1",
            "12",
            "16",
            "x = 1",
            "}",
            "- a",
            "# Sea",
            "```",
            "| b |",
            "水",
            "ru",
        ]
    ),
    max_size=14,
)
_BLANKS = st.sampled_from([" ", "\n", "", ". ", ".\n", "\n\n", "\n    "])


@st.composite
def _texts(draw: st.DrawFn) -> str:
    words = draw(_WORDS)
    return "".join(word + draw(_BLANKS) for word in words)


@st.composite
def _replies(draw: st.DrawFn, stands: str) -> str:
    """Something else, or what stands from some place on, perhaps with something behind it, or changed somewhere."""
    again = stands[draw(st.integers(0, len(stands))) :]
    kept = again[: draw(st.integers(0, len(again)))]
    return draw(st.sampled_from([again, kept, ""])) + draw(_texts())


def shown(stands: str, reply: str, *, told: bool, cuts: list[int] | None = None) -> list[str]:
    """What is seen after each piece of a reply, and at its end."""
    joint = Joint(stands, told=told)
    pieces = sorted({min(cut, len(reply)) for cut in cuts or []} | {len(reply)})
    return [*(joint.text(reply[:cut]) for cut in pieces), joint.text(reply, final=True)]


def whole(stands: str, reply: str) -> str:
    return shown(stands, reply, told=True)[-1]


def agrees(stands: str, reply: str) -> bool:
    """Whether a reply repeats at least nine tenths of what stands, from its beginning."""
    stands, reply = stands.rstrip(), reply.lstrip()
    same = next((at for at, (one, other) in enumerate(zip(stands, reply, strict=False)) if one != other), None)
    return (min(len(stands), len(reply)) if same is None else same) >= NEARLY_ALL * len(stands)


@settings(max_examples=500, deadline=None)
@given(st.data(), _texts().filter(str.strip), st.booleans())
def test_what_was_read_is_the_beginning_of_what_is_shown_afterwards(
    data: st.DataObject, stands: str, told: bool
) -> None:
    reply = data.draw(_replies(stands))
    cuts = data.draw(st.lists(st.integers(0, len(reply)), max_size=6))
    seen = shown(stands, reply, told=told, cuts=cuts)
    if not agrees(stands, reply):
        read = stands.rstrip()
        for text in seen:
            assert text.startswith(read)
            read = text.rstrip()
    assert all(len(text.rstrip()) >= len(stands.rstrip()) for text in seen[:-1])


@settings(max_examples=300, deadline=None)
@given(st.data(), _texts().filter(str.strip), st.booleans())
def test_how_a_reply_is_cut_makes_no_difference(data: st.DataObject, stands: str, told: bool) -> None:
    reply = data.draw(_replies(stands))
    assert shown(stands, reply, told=told, cuts=list(range(len(reply))))[-1] == shown(stands, reply, told=told)[-1]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_reply_that_goes_on_behind_the_words_that_it_was_told_makes_exactly_the_text(text: str) -> None:
    for end in range(1, len(text)):
        begun = beginning(text[:end])
        if begun:
            assert whole(text[:end], text[len(begun) :]) == text, repr(text[:end])


@pytest.mark.parametrize("text", UNALIKE, ids=[name for name, text in TEXTS.items() if text in UNALIKE])
def test_a_text_that_is_written_again_is_read_once(text: str) -> None:
    for end in range(text.index(" ") if " " in text else 5, len(text)):
        stands = text[:end].rstrip()
        assert whole(stands, text) == text, repr(stands)
        assert shown(stands, text, told=False)[-1] == text, repr(stands)


def _starts(text: str) -> list[int]:
    """The beginnings of sentences and lines, and places in the middle of words."""
    sentences = [found.end() for found in re.finditer(r"^|(?<=[.!?。]) |\n+", text)]
    return sentences + [at + 2 for at in sentences if text[at : at + 4].isalpha()]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_reply_that_begins_at_any_sentence_or_within_a_word_takes_nothing_away(text: str) -> None:
    for end in range(8, len(text), 11):
        stands = text[:end].rstrip()
        for start in _starts(text):
            for told in (True, False):
                seen = shown(stands, text[start:], told=told, cuts=[1, 5, 20])
                assert agrees(stands, text[start:]) or all(one.startswith(stands) for one in seen), (stands, start)


def test_a_reply_that_repeats_the_last_line_or_sentence_says_it_once() -> None:
    for name in ("refrains", "numbered lines", "list", "table", "prose"):
        text = TEXTS[name]
        starts = [at for at in _starts(text) if not text[at - 1 : at].isalpha()]
        for start, following in itertools.pairwise(starts):
            for end in (following - 3, following - 1):
                stands = text[:end].rstrip()
                if len(text[start:end].split()) > 1:
                    assert whole(stands, text[start:]) == text, (stands, text[start:])


@pytest.mark.parametrize(
    ("stands", "reply", "text"),
    [
        (STANDS, REST, WHOLE),
        (STANDS, f" {REST}", WHOLE),
        (STANDS, f"it {REST}", WHOLE),
        (STANDS, f"from there it {REST}", WHOLE),
        (STANDS, WHOLE[4:], WHOLE),
        (STANDS, WHOLE[1:], WHOLE),
        (STANDS, WHOLE[STANDS.index("ld mill") :], WHOLE),
        (STANDS, "ns down.", f"{STANDS}ns down."),
        (STANDS, ", they say.", f"{STANDS}, they say."),
        (STANDS, "The end.", f"{STANDS}\nThe end."),
        (STANDS, "Rivers are long.", f"{STANDS} Rivers are long."),
        (STANDS, "# The sea\n\nIt is deep.", f"{STANDS}\n\n# The sea\n\nIt is deep."),
        (STANDS, "- the sea", f"{STANDS}\n- the sea"),
        (STANDS, "```\nx = 1\n```", f"{STANDS}\n```\nx = 1\n```"),
        (STANDS, f"{BEGUN[:40]}and flows.", f"{STANDS}\n{BEGUN[:40]}and flows."),
        (STANDS, "", STANDS),
        (f"{STANDS}ns. ", "", f"{STANDS}ns."),
        (BEGUN, BEGUN.rstrip(), BEGUN.rstrip() + " "),
        ("Answer line 15 of 40.", "Answer line 16 of 40.", "Answer line 15 of 40.\nAnswer line 16 of 40."),
        ("Row 1\nRow 15.", "Row 16.", "Row 1\nRow 15.\nRow 16."),
        ("It is long. It has a number of 1", "It is long. It has a number of 1", "It is long. It has a number of 1"),
        (
            "It is long and wide. The river ru",
            "It is long and wide. The river is.",
            "It is long and wide. The river is.",
        ),
    ],
)
def test_what_comes_between_a_text_and_what_goes_on_with_it(stands: str, reply: str, text: str) -> None:
    assert whole(stands, reply) == text
    assert shown(stands, reply, told=True, cuts=list(range(len(reply))))[-1] == text


def test_words_that_the_text_has_twice_in_a_row_are_no_repetition() -> None:
    assert whole("x = 1\nx = 1\nx", "x = 1\ny = 2") == "x = 1\nx = 1\nx = 1\ny = 2"
    assert whole("So it is.\nLa la la.\nLa la la.\nAnd on.\nLa la la.\n", "La la la.\nThe end.") == (
        "So it is.\nLa la la.\nLa la la.\nAnd on.\nLa la la.\nLa la la.\nThe end."
    )


@pytest.mark.parametrize("reply", ["Good day to you.", "Hello, my dear.", "# Hello"])
def test_a_message_of_its_own_comes_below_one_that_broke_off(reply: str) -> None:
    assert shown("Hello, how are y", reply, told=False)[-1] == f"Hello, how are y ⏹\n\n{reply}"


def test_a_message_of_its_own_that_broke_off_below_another_one_is_gone_on_with() -> None:
    stands = "Hello, how are y ⏹\n\nGood da"
    assert shown(stands, "Good day to you.", told=False)[-1] == "Hello, how are y ⏹\n\nGood day to you."


def test_no_more_is_held_back_than_what_a_reply_repeats() -> None:
    text, stands = TEXTS["numbered lines"], TEXTS["numbered lines"][:300]
    joint = Joint(stands, told=True)
    reply = text[len(beginning(stands)) :]
    late = [len(reply[:end]) for end in range(1, len(reply)) if joint.text(reply[:end]) == stands]
    assert max(late, default=0) <= len("line 15 of 40.\nAnswer")


@pytest.mark.parametrize(
    ("stands", "begun"),
    [
        (STANDS, BEGUN),
        (BEGUN, BEGUN),
        ("word\n" * 20 + "half", "word\n" * 20),
        ("Hello", ""),
        ("水は低きに流れる。" * 30, "水は低きに流れる。" * 30),
    ],
)
def test_a_model_is_told_whole_words(stands: str, begun: str) -> None:
    assert beginning(stands) == begun
