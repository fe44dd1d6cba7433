"""What is remembered of the most recent things."""

from __future__ import annotations

from adapters.recent import RecentValues


def test_what_was_not_used_for_the_longest_time_is_forgotten() -> None:
    recent = RecentValues[str, int](2)
    recent.keep("a", 0)
    recent.keep("b", 1)
    assert recent.get("a") == 0
    recent.keep("c", 2)
    assert ("a" in recent, "b" in recent, "c" in recent) == (True, False, True)


def test_looking_whether_it_is_there_is_no_use() -> None:
    recent = RecentValues[str, int](2)
    recent.keep("a", 0)
    recent.keep("b", 1)
    assert "a" in recent
    recent.keep("c", 2)
    assert list(recent.values()) == [1, 2]


def test_what_is_kept_again_stands_once() -> None:
    recent = RecentValues[str, int](2)
    for number in range(3):
        recent.keep("a", number)
    recent.forget("b")
    assert list(recent.values()) == [2]
    recent.forget("a")
    assert recent.get("a") is None
