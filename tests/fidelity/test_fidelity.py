"""People see what agents wrote: a small run of the measurement of `make fidelity`."""

from __future__ import annotations

import pytest

from tests.fidelity.measuring import PLATFORMS, Score, measured, streamed, web_page

TEXTS = range(10_000, 10_150)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_text_code_and_links_are_whole_and_emphasis_is_as_it_was_meant(platform: str) -> None:
    _all_is_seen(measured(PLATFORMS[platform], TEXTS))


def test_the_page_of_the_web_chat_shows_a_text_as_it_was_meant() -> None:
    with web_page() as page:
        _all_is_seen(measured(page, TEXTS[:60]))


def _all_is_seen(score: Score) -> None:
    assert score.differing == []
    assert score.text == score.code == score.links == score.texts
    assert score.looks >= 0.99 * score.characters
    assert score.steady == score.texts, "a beginning that people have seen is regrouped"


def test_what_is_streamed_in_pieces_is_what_was_written() -> None:
    assert streamed(TEXTS) == len(TEXTS)
