"""Secrets in texts that others read."""

from __future__ import annotations

import pytest

from gateway.observability.watching import MASK, Masking

TELEGRAM = "8123456789:AAH-abcdefghijklmnopqrstuvwxyz0123456"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"POST /bot{TELEGRAM}/getMe failed", f"POST /bot{MASK}/getMe failed"),
        ("the key sk-proj-0123456789 is refused", f"the key {MASK} is refused"),
        ("redis://ada:opensesame@db:6379 is away", f"redis://{MASK}@db:6379 is away"),
        ("order 4711:12 at 12:30", "order 4711:12 at 12:30"),
        ("our own word", f"our own {MASK}"),
    ],
)
def test_the_usual_forms_of_secrets_and_those_that_are_known_are_masked(text: str, shown: str) -> None:
    assert Masking(["word"]).masked(text) == shown


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["1", "1234567:", "sk-", "://", "a-"])
def test_a_long_text_without_a_secret_is_looked_through_in_a_moment(piece: str) -> None:
    assert Masking().masked(piece * 200_000)
