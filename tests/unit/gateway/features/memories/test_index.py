"""Memories are found by the words of a question, however they are formed or typed."""

import random

import pytest

from benchmarks.programs.memories import QUESTIONS, made
from gateway.features.memories.index import MemoryIndex, stem, tokens
from runtime.core.near_names import mistakes_between

FACTS = (
    "is vegetarian",
    "is allergic to peanuts",
    "lives in Oslo",
    "has two dogs",
    "plays the guitar in a band",
    "用户喜欢咖啡和茶",
    "住在上海",
    "Größe 42 bei Schuhen",
    "일요일에는 축구를 한다",
)


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is the user allergic to?", "is allergic to peanuts"),
        ("allergies", "is allergic to peanuts"),
        ("alergic to penuts", "is allergic to peanuts"),
        ("vegetrian", "is vegetarian"),
        ("vegatarain", "is vegetarian"),
        ("What do you know about the user's diet?", "is allergic to peanuts"),
        ("where is their home", "住在上海"),
        ("living in oslo", "lives in Oslo"),
        ("dog", "has two dogs"),
        ("any pets?", "has two dogs"),
        ("GUITARS", "plays the guitar in a band"),
        ("咖啡", "用户喜欢咖啡和茶"),
        ("上海", "住在上海"),
        ("groesse", "Größe 42 bei Schuhen"),
        ("grosse", "Größe 42 bei Schuhen"),
        ("축구", "일요일에는 축구를 한다"),
        ("quantum physics", None),
        ("the and of", None),
        ("", None),
    ],
)
def test_what_fits_best_comes_first_and_what_does_not_fit_not_at_all(question: str, fact: str | None) -> None:
    found = MemoryIndex(FACTS).search(question, 3)
    assert (FACTS[found[0]] if found else None) == fact


def test_of_equal_ones_the_newest_comes_first_and_no_more_than_wanted() -> None:
    index = MemoryIndex(["likes tea"] * 5)
    assert index.search("tea", 3) == [4, 3, 2]


def test_an_index_that_grew_is_the_same_as_one_that_was_made_at_once() -> None:
    grown = MemoryIndex(FACTS[:4])
    for fact in FACTS[4:]:
        grown.add(fact)
    for question in ("diet", "alergic", "咖啡", "band"):
        assert grown.search(question, 9) == MemoryIndex(FACTS).search(question, 9)


def test_forms_of_a_word_share_a_stem() -> None:
    for words in (("allergy", "allergies"), ("live", "lives", "living", "lived"), ("work", "works", "working")):
        assert len(set(map(stem, words))) == 1
    assert tokens("the user's") == []


def test_ten_thousand_memories_are_searched_by_comparing_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def counted(one: str, other: str, most: int) -> int | None:
        compared.append(other)
        return mistakes_between(one, other, most)

    monkeypatch.setattr("gateway.features.memories.index.mistakes_between", counted)
    texts = made(random.Random(1))
    index = MemoryIndex(texts)
    for question, wanted in QUESTIONS.values():
        compared.clear()
        assert texts[index.search(question, 8)[0]] == wanted
        assert len(compared) < 300  # of some 7,800 different words
