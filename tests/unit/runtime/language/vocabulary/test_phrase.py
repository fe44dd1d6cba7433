"""Phrases: what their notation matches, and that every one in the vocabulary is read and used."""

import re

import pytest

from runtime.language.vocabulary.phrase import ENTRIES, FILE, PhrasePattern, phrase, probably_meant
from tests.architecture.source_tree import ROOT

CODE = [
    path.read_text(encoding="utf-8")
    for folder in ("language", "authoring", "execution")
    for path in (ROOT / "runtime" / folder).rglob("*.py")
]
MATCHES = (
    ("tell | say goodbye", "Say goodbye to them", "Say goodbye"),
    ("tell", "Teller", None),
    ("tell", "tell's", "tell"),
    ("don't | keep", "Don\u2019t say it", "Don\u2019t"),
    ("re-do", "Re - do it", None),
    ("[the] user~s", "the users", "the users"),
    ("reply~s | wish~s | choose~ing", "replies", "replies"),
    ("reply~s | wish~s | choose~ing", "wishes", "wishes"),
    ("reply~s | wish~s | choose~ing", "Choosing", "Choosing"),
    ("inquir*", "inquiries", "inquiries"),
    ("*ly", "ly", None),
    ("ask ... until", "ask, and ask, until", "ask, and ask, until"),
    ("ask .. until", "ask, and ask, until", None),
    ("if BLANK VARIABLE", "if $x is 3", "if $x"),
    ("PLACE `=` !(`=`)", "$x.y[0] = 3", "$x.y[0] ="),
    ("PLACE `=` !(`=`)", "$x == 3", None),
    ("to {who: NAME} [.] END", "to Ada.", "to Ada."),
    ("to NAME", "to ada", None),
    ("say [:] QUOTATION END", 'say: "a b"', 'say: "a b"'),
    ("(and | then)+ go", "and then go", "and then go"),
    ("case =(.. :) !(x)", "case good: yes", "case"),
    ("tell {who: WORD} office", "Tell \u0130stanbul office that", "Tell \u0130stanbul office"),
    ("(to NAME)+ END", "to Stra\u00dfe to Oslo", "to Stra\u00dfe to Oslo"),
)


@pytest.mark.parametrize(("notation", "text", "found"), MATCHES)
def test_notation_matches_this_beginning(notation: str, text: str, found: str | None) -> None:
    match = PhrasePattern(notation).begins(text)
    assert (match and match.whole) == found


def test_named_parts_and_what_stands_behind_are_texts_of_the_sentence() -> None:
    found = PhrasePattern("wait [for {whom: NAME}] [{how: long}]").begins("Wait  for  Head, please")
    assert found is not None
    assert (found["whom"], found["how"], found.rest) == ("Head", "", ", please")


def test_a_part_that_is_tried_again_begins_where_it_began() -> None:
    found = PhrasePattern("go {where: WORD ..} {where: to WORD} END").begins("Go \u0130lk to to \u00df")
    assert found is not None
    assert found["where"] == "\u0130lk to"


def test_places_inside_do_not_overlap_and_none_is_found_where_there_is_none() -> None:
    found = list(PhrasePattern("again and again | again").all_inside("so again and again, again"))
    assert [one.whole for one in found] == ["again and again", "again"]
    assert PhrasePattern("never").inside("so again") is None
    assert PhrasePattern("go | go on").is_all_of("go on") is not None


@pytest.mark.parametrize("notation", ["(a | b", "a ) b", "[a | b"])
def test_a_phrase_that_is_not_closed_is_refused(notation: str) -> None:
    with pytest.raises(ValueError, match=r"closes nothing|is missing"):
        PhrasePattern(notation).begins("a")


@pytest.mark.parametrize("name", ENTRIES)
def test_every_phrase_of_the_vocabulary_is_read_and_asked_for(name: str) -> None:
    phrase(name).begins("Say it")
    section = ENTRIES[name].section
    asked = (f'phrase("{name}")', f'words_of("{name}")', f"<{name}>", f'phrases_of("{section}")')
    assert any(one in text for text in (*CODE, *(entry.notation for entry in ENTRIES.values())) for one in asked)


def test_every_phrase_that_the_code_asks_for_is_in_the_vocabulary() -> None:
    asked = {name for text in CODE for name in re.findall(r'\b(?:phrase|words_of)\([\'"]([^\'"]+)[\'"]\)', text)}
    assert len(asked) > 200
    assert asked <= ENTRIES.keys()


def test_no_two_phrases_have_one_name() -> None:
    names = re.findall(r"^### (.+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == len(ENTRIES)


@pytest.mark.parametrize(
    ("step", "meant"),
    [
        ("Aks the user for a name", "Ask"),
        ('Sya "Hello"', "Say"),
        ("wiat for the user", "Wait"),
        ("Othewise", "Otherwise"),
        ("End programm", "End program"),
        ("Wait for teh user.", "Wait for the user"),
        ("End program", ""),
        ("Ask the user", ""),
        ("And so it goes", ""),
        ("Frobnicate the list", ""),
        ("Any day will do", ""),
        ("Sell the house", ""),
        ("Spend $n", ""),
        ("Gret the user", "Greet"),
        ("St $tries to 0", "Set"),
        ("", ""),
    ],
)
def test_a_slip_in_what_is_often_written_is_named_and_no_known_word_is_taken_for_one(step: str, meant: str) -> None:
    assert probably_meant(step) == meant
