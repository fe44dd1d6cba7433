"""People see what agents wrote: a small run of the measurement of `make fidelity`."""

import pytest

from adapters.markdown.mentions import with_mentions
from tests.fidelity.measuring import PLATFORMS, Score, Shown, cut_everywhere, measured, streamed, web_page
from tests.fidelity.seen import NAME, words
from tests.fidelity.writing import Writer

TEXTS = range(10_000, 10_150)
DENSE = range(30)
LEAST = 120
"""The smallest page on which the longest address and what stands around it fit."""


@pytest.mark.parametrize("platform", PLATFORMS)
def test_text_code_and_links_are_whole_and_emphasis_is_as_it_was_meant(platform: str) -> None:
    _all_is_seen(measured(PLATFORMS[platform], TEXTS))


def test_the_page_of_the_web_chat_shows_a_text_as_it_was_meant() -> None:
    with web_page() as page:
        _all_is_seen(measured(page, TEXTS[:60]))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_wherever_a_text_is_cut_all_of_it_is_seen(platform: str) -> None:
    _nothing_is_lost(PLATFORMS[platform])


def test_wherever_a_text_is_cut_the_page_of_the_web_chat_shows_all_of_it() -> None:
    with web_page() as page:
        _nothing_is_lost(page)


def _nothing_is_lost(platform: Shown) -> None:
    texts = 0
    for seed in DENSE:
        written = Writer(seed).dense()
        score = cut_everywhere(platform, written, LEAST)
        assert score.differing == [], written.markdown
        texts += score.texts
        [alone] = platform.read([with_mentions(written.markdown, {NAME: platform.person})])
        assert "[r1]" not in words(alone), "a reference in a whole text is no link"
    assert texts > 20 * len(DENSE), "they are cut in few places"


def _all_is_seen(score: Score) -> None:
    assert score.differing == []
    assert score.text == score.code == score.links == score.texts
    assert score.looks >= 0.99 * score.characters
    assert score.steady == score.begun, "a beginning that people have seen is regrouped"


def test_what_is_streamed_in_pieces_is_what_was_written() -> None:
    assert streamed(TEXTS) == len(TEXTS)
