"""An update of Telegram's of any form ends no connection, and costs only itself."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from tests.contract.telegram.speaking import new_adapter
from tests.contract.telegram.test_webhook import URL, request
from tests.contract.telegram.test_webhook import update as said
from tests.fakes.protocols.malformed import WRONG, check_types, malformed
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio

SENT = tuple(value for value in WRONG if value != "\ud800")
"""Telegram sends UTF-8, which half a character cannot be in."""

FEW: tuple[Any, ...] = (None, [], {"a": {"b": []}}, 7)
"""What is tried in each place of a request, as what is in it is read in one way for all ways that it comes."""

ADA = {"id": PERSON, "is_bot": False, "first_name": "Ada", "username": "ada"}
CHAT = {"id": GROUP, "type": "supergroup", "title": "Us", "is_forum": True}
MESSAGE: dict[str, Any] = {
    "message_id": 7,
    "message_thread_id": 3,
    "is_topic_message": True,
    "date": 1_790_000_000,
    "from": ADA,
    "chat": CHAT,
    "text": "@parley_bot hello",
    "entities": [{"type": "mention", "offset": 0, "length": 11}],
    "reply_to_message": {"message_id": 6, "date": 1_790_000_000, "chat": CHAT, "from": ADA, "text": "before"},
    "quote": {"text": "before", "position": 0},
}
PICTURE = {**MESSAGE, "photo": [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 3}]}
UPDATES: dict[str, dict[str, Any]] = {
    "a message": {"message": MESSAGE},
    "a picture of an album": {"message": {**PICTURE, "media_group_id": "g", "caption": "look"}},
    "a voice note": {"message": {**MESSAGE, "voice": {"file_id": "v", "file_unique_id": "w", "duration": 3}}},
    "an edit": {"edited_message": {**MESSAGE, "edit_date": 1_790_000_001}},
    "a press": {"callback_query": {"id": "1", "from": ADA, "message": MESSAGE, "data": "p.0", "chat_instance": "c"}},
    "a mark": {
        "message_reaction": {
            "chat": CHAT,
            "message_id": 7,
            "user": ADA,
            "date": 1_790_000_000,
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": "👍"}],
        }
    },
    "a bigger group": {"message": {**MESSAGE, "migrate_to_chat_id": -1_009}},
    "a closed topic": {"message": {**MESSAGE, "forum_topic_closed": {}}},
    "a membership": {
        "my_chat_member": {"chat": CHAT, "from": ADA, "date": 1_790_000_000, "new_chat_member": {"status": "left"}}
    },
}


@pytest.mark.parametrize("update", UPDATES)
async def test_an_update_of_any_form_ends_nothing(
    adapter: TelegramAdapter, platform: TelegramPlatform, update: str
) -> None:
    for wrong in malformed(UPDATES[update], SENT):
        platform.updates.put({key: value for key, value in wrong.items() if key != "update_id"} or {"poll": {}})
    platform.say("after")
    async with adapter.connect() as inbound:
        with anyio.fail_after(120):
            while (item := await anext(inbound)).text != "after":
                check_types(item)


@pytest.mark.parametrize("update", ["a message", "a mark"])
async def test_a_request_of_any_form_is_answered_and_ends_nothing(
    options: TelegramOptions, platform: TelegramPlatform, update: str
) -> None:
    statuses, together = list[int](), anyio.CapacityLimiter(20)
    async with aclosing(new_adapter(replace(options, webhook_url=URL))) as hooked, hooked.connect() as inbound:

        async def hear() -> None:
            async for item in inbound:
                check_types(item)

        async def ask(number: int, body: Any) -> None:
            if isinstance(body, dict) and body.get("update_id") == 1:
                body = {**body, "update_id": number}
            async with together:
                statuses.append((await hooked.receive(request(body))).status)

        async with anyio.create_task_group() as hearing:
            hearing.start_soon(hear)
            with anyio.fail_after(120):
                async with anyio.create_task_group() as asking:
                    for number, wrong in enumerate([*WRONG, *malformed({"update_id": 1, **UPDATES[update]}, FEW)]):
                        asking.start_soon(ask, number, wrong)
                await ask(100_000, said("after", 100_000))
            hearing.cancel_scope.cancel()
    assert set(statuses) <= {200, 400, 503}  # 503 asks for it again
    assert statuses[-1] == 200
