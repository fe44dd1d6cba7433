"""A conversation of the order helper costs no more than is promised."""

from __future__ import annotations

import pytest

from benchmarks.programs.execution import Held, bare, in_frames, order_helper_talk


@pytest.fixture(scope="module")
def held() -> Held:
    """The greeting and two messages."""
    found = in_frames(order_helper_talk())
    assert isinstance(found, Held)
    return found


def test_the_order_helper_is_talked_to_its_end(held: Held) -> None:
    assert held.record.how == "ended", held.record.why
    assert [(one.line, one.text) for one in held.record.shown] == [
        (0, "Welcome! I can look up orders for you."),
        (0, "What is the number of your order?"),
        (1, "Your order is shipped and arrives on 2 August."),
        (1, "Is there another order that I may look up?"),
        (2, "Thank you, and goodbye!"),
    ]


def test_it_takes_no_more_model_calls_than_a_plain_bot_with_a_tool(held: Held) -> None:
    assert held.record.cost.calls <= bare(held).calls == 4


def test_its_prompts_are_short(held: Held) -> None:
    assert held.record.cost.chars_in <= 12_000


def test_little_is_written_that_nobody_sees(held: Held) -> None:
    assert held.record.cost.chars_out <= 1.6 * held.record.cost.chars_shown
    assert max(held.unseen) <= 12
