"""What was said in a thread on Slack before the bot was spoken to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.decoding import GONE
from adapters.slack.adapter import SlackAdapter
from runtime.core.errors import AdapterError
from tests.contract.slack.speaking import send, thread
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import FRIEND
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio


async def test_a_thread_is_told_from_its_beginning_with_names_bots_and_as_it_is_now(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("the site is down")
    reply = platform.say("since when?", thread=root, person=FRIEND)
    platform.rewrite(reply, "since when exactly?")
    await send(adapter, "Build 7 failed", to=thread(root))
    asked = platform.mention("sum this up", thread=root)
    platform.say("later", thread=root)
    earlier = await adapter.earlier(thread(root), asked, at_most=50)
    assert [(one.person_id, one.person_name, one.text) for one in earlier] == [
        (f"slack:{TEAM}:U0ADA", "Ada Lovelace", "the site is down"),
        (f"slack:{TEAM}:{FRIEND}", "Bob", "since when exactly?"),
        ("", "Host", "Build 7 failed"),
    ]
    assert all(one.address == thread(root) and not one.addressed for one in earlier)


async def test_of_a_long_thread_the_beginning_and_the_latest_are_told(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("start")
    for number in range(9):
        platform.say(str(number), thread=root)
    asked = platform.mention("and?", thread=root)
    earlier = await adapter.earlier(thread(root), asked, at_most=4)
    assert [one.text for one in earlier] == ["start", "6", "7", "8"]


async def test_a_mention_that_begins_a_thread_has_no_past_and_a_refusal_is_an_adapters_error(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    asked = platform.mention("hello")
    assert await adapter.earlier(thread(asked), asked, at_most=50) == []
    root = platform.say("start")
    platform.fail("conversations.replies", "bad_gateway", times=9)
    with pytest.raises(AdapterError):
        await adapter.earlier(thread(root), platform.mention("and?", thread=root), at_most=50)


async def test_one_message_that_is_not_understood_takes_nothing_from_the_others_and_a_deleted_beginning_is_said(
    adapter: SlackAdapter, platform: SlackPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = platform.say("start")
    odd = platform.say("odd", thread=root, person=FRIEND)
    platform.say("even", thread=root, person=FRIEND)
    asked = platform.mention("and?", thread=root)
    replies = platform.conversations.replies

    def told(params: Mapping[str, Any]) -> dict[str, Any]:
        answer = replies(params)
        changed = {
            root: {"user": "USLACKBOT", "subtype": "tombstone", "text": "This message was deleted."},
            odd: {"files": [{"name": "without an id"}]},
        }
        return answer | {"messages": [one | changed.get(one["ts"], {}) for one in answer["messages"]]}

    monkeypatch.setattr(platform.conversations, "replies", told)
    earlier = await adapter.earlier(thread(root), asked, at_most=50)
    assert [(one.person_id, one.text) for one in earlier] == [("", GONE), (f"slack:{TEAM}:{FRIEND}", "even")]
