"""A newer memory about the same thing replaces an older one."""

from __future__ import annotations

import pytest

from gateway.features.memories.books import replaced_by
from runtime.core.ids import SessionId
from runtime.stores.memories import Memory, Scope


def memory(text: str, owner: str = "a", about: str = "") -> Memory:
    """A memory of this text, which is its id."""
    return Memory(text, Scope("person", "p", "a"), owner, about, text, 1.0, "c", SessionId("s"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in Oslo", "The user lives in Bergen now"),
        ("The user lives in Oslo", "Moved to Bergen in May"),
        ("The user works at Acme", "The user works at Initech"),
        ("The user is called Jo", "The user is called Joanna"),
        ("The user's favourite colour is blue", "The user's favourite colour is green"),
        ("Their birthday is 2 May", "Their birthday is 3 May"),
        ("The user is vegetarian", "The user is vegan"),
        ("The user eats fish", "The user no longer eats fish"),
        ("Prefers window seats on flights", "Prefers aisle seats on flights"),
        ("likes tea", "The user likes tea"),
    ],
)
def test_of_two_about_the_same_thing_the_newer_one_counts(older: str, newer: str) -> None:
    assert replaced_by(newer, "a", "", [memory(older)]) == (older,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes tea", "The user likes jazz"),
        ("The user lives in Oslo", "The user works at Acme"),
        ("The user has a dog", "The user has a cat"),
        ("The user is vegetarian", "The user eats out on Fridays"),
        ("The user's favourite colour is blue", "The user's favourite food is pasta"),
        ("Has a dog named Rex", "Has a sister named Anna"),
    ],
)
def test_what_is_about_different_things_stays(one: str, other: str) -> None:
    assert replaced_by(other, "a", "", [memory(one)]) == ()


def test_what_belongs_to_another_or_is_about_another_is_not_replaced() -> None:
    known = [memory("The user lives in Oslo", owner="b"), memory("lives in Oslo", about="Carol")]
    assert replaced_by("The user lives in Bergen", "a", "", known) == ()
