"""kill -9 at any moment: people see every sentence once and whole, where it had begun, and the program goes on."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import anyio
import pytest

from tests.e2e.crashes import CHATS, FIRST, MANNERS, MOMENTS, ROW, SECOND, Told, tell
from tests.e2e.talks import TelegramTalk, begins_like

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """All conversations, killed at their moments, told to the end once for all tests."""
    directory: Path = tmp_path_factory.mktemp("crashes")
    return anyio.run(tell, directory)


every_conversation = pytest.mark.parametrize("name", ["-".join(life) for life in product(CHATS, MANNERS, MOMENTS)])


@every_conversation
def test_every_sentence_is_seen_once_and_whole_after_a_kill(told: dict[str, Told], name: str) -> None:
    one = told[name]
    assert one.problem == ""
    assert one.seen[-1][0] == one.all
    if isinstance(one.talk, TelegramTalk):
        assert one.talk.posts() == 5


@every_conversation
def test_a_sentence_is_finished_in_the_message_where_it_had_begun(told: dict[str, Told], name: str) -> None:
    *kills, (_, ids) = told[name].seen
    assert len(kills) == 2
    assert len(set(ids)) == 5
    for _, ids_then in kills:
        assert begins_like(ids, ids_then)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("manner", MANNERS)
def test_the_kills_came_when_they_were_meant_to(told: dict[str, Told], chat: str, manner: str) -> None:
    def shown(moment: str) -> list[str]:
        return told[f"{chat}-{manner}-{moment}"].seen[0][0]

    assert shown("before_the_answer") == []
    for moment in ("within_a_sentence", "twice"):
        (half,) = shown(moment)
        assert half != FIRST
    assert shown("between_sentences") == [FIRST]
    assert shown("while_waiting") == shown("while_a_value_is_asked") == [FIRST, SECOND]
    assert shown("in_a_call") == shown("while_a_choice_is_asked") == [FIRST, SECOND, ROW]


BEGIN, VALUE, CHOICE = ["welcome", "ask"], ["understand"], ["choose", "box"]
REQUESTS = {
    "before_the_answer": [BEGIN, BEGIN, VALUE, CHOICE],
    "within_a_sentence": [BEGIN, ["welcome"], ["ask"], VALUE, CHOICE],
    "between_sentences": [BEGIN, ["ask"], VALUE, CHOICE],
    "while_waiting": [BEGIN, VALUE, CHOICE],
    "while_a_value_is_asked": [BEGIN, VALUE, VALUE, CHOICE],
    "in_a_call": [BEGIN, VALUE, CHOICE],
    "while_a_choice_is_asked": [BEGIN, VALUE, CHOICE, CHOICE],
    "twice": [BEGIN, ["welcome"], ["ask"], ["ask"], VALUE, CHOICE],
}


@every_conversation
def test_the_model_is_asked_again_only_for_what_broke_off(told: dict[str, Told], name: str) -> None:
    assert told[name].requests == REQUESTS[told[name].moment]
