"""kill -9 at any moment: people see every sentence once and whole, where it had begun, and the program goes on."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.e2e.crashes import ALL, CHATS, FIRST, MANNERS, MOMENTS, Told, tell
from tests.e2e.talks import TelegramTalk, begins_like

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """All conversations, killed at their moments, told to the end once for all tests."""
    directory: Path = tmp_path_factory.mktemp("crashes")
    return anyio.run(tell, directory)


every_conversation = pytest.mark.parametrize(
    "name", [f"{chat}-{manner}-{moment}" for chat in CHATS for manner in MANNERS for moment in MOMENTS]
)


@every_conversation
def test_every_sentence_is_seen_once_and_whole_after_a_kill(told: dict[str, Told], name: str) -> None:
    one = told[name]
    assert one.problem == ""
    assert one.seen[-1][0] == ALL
    if isinstance(one.talk, TelegramTalk):
        assert one.talk.posts() == len(ALL)


@every_conversation
def test_a_sentence_is_finished_in_the_message_where_it_had_begun(told: dict[str, Told], name: str) -> None:
    *kills, (_, ids) = told[name].seen
    assert len(kills) == 2
    assert len(set(ids)) == len(ALL)
    for _, ids_then in kills:
        assert begins_like(ids, ids_then)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("manner", MANNERS)
def test_the_kills_came_when_they_were_meant_to(told: dict[str, Told], chat: str, manner: str) -> None:
    def shown(moment: str) -> list[str]:
        return told[f"{chat}-{manner}-{moment}"].seen[0][0]

    assert shown("before_the_answer") == []
    (half,) = shown("within_a_sentence")
    assert half != FIRST
    assert shown("between_sentences") == ALL[:1]
    assert shown("while_waiting") == ALL[:2]
    assert shown("with_a_message") == ALL[:2]
    assert len(told[f"{chat}-{manner}-twice"].seen[1][0]) == 2


@every_conversation
def test_the_model_is_asked_again_only_for_what_broke_off(told: dict[str, Told], name: str) -> None:
    expected = {"while_waiting": [0, 1], "with_a_message": [0, 1, 1], "twice": [0, 0, 0, 1]}
    assert told[name].requests == expected.get(told[name].moment, [0, 0, 1])
