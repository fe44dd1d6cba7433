"""How much of its past a model can be told."""

import pytest

from runtime.execution.execution_context import REPLY_TOKENS, ContextWindow
from runtime.llm.client import Usage


def test_nothing_is_known_before_an_answer_says_how_much_the_model_takes() -> None:
    window = ContextWindow()
    window.answered(4_000, Usage(input_tokens=1_000))
    assert window.past_chars(0) is None


def test_the_past_has_what_is_left_of_the_window_in_the_providers_own_count() -> None:
    window = ContextWindow()
    for _ in range(40):
        window.answered(8_000, Usage(input_tokens=2_000, window_tokens=128_000))
    assert window.past_chars(10_000) == pytest.approx((128_000 - REPLY_TOKENS) * 4 - 10_000, abs=2)


def test_a_small_window_leaves_a_quarter_for_the_answer_and_never_less_than_nothing() -> None:
    window = ContextWindow()
    for _ in range(40):
        window.answered(2_000, Usage(input_tokens=1_000, window_tokens=4_096))
    assert window.past_chars(1_000) == pytest.approx(3_072 * 2 - 1_000, abs=2)
    assert window.past_chars(100_000) == 0


def test_one_strange_count_does_not_decide() -> None:
    window = ContextWindow()
    window.answered(1_000_000, Usage(input_tokens=1, window_tokens=1_000))
    assert window.chars_per_token <= 6
