"""A place that people close while we write there: the platform refuses for good, and the next place takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.adapter import CanWriteAlone
from runtime.core.address import Address, Speaker
from runtime.core.errors import MessageGone, NotDelivered
from tests.contract.stands.kinds import stand_of
from tests.contract.stands.stand import Stand
from tests.fakes.telegram.platform import BOT_ID, GROUP

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Closing:
    """How people close a thread, or the group; `person` is who asked there."""

    platform: str
    what: str
    close: Callable[[Any, Address], object]
    in_thread: bool = True
    person: str = ""


def _discord(code: int, times: int = 1) -> Callable[[Any, Address], object]:
    return lambda stand, _: stand.platform.fail("hook_send", "refuse", status=403, code=code, times=times)


def _refuse_on_slack(stand: Any, error: str) -> None:
    stand.platform.fail("chat.postMessage", "refuse", error=error)


def _on_slack(stand: Any, **state: bool) -> None:
    channel = stand.platform.conversations.open(stand.group.conversation.partition(":")[2])
    for name, value in state.items():
        setattr(channel, name, value)


CLOSINGS = [
    Closing("telegram", "topic closed", lambda stand, to: stand.platform.chats.close_topic(GROUP, int(to.thread or 0))),
    Closing(
        "telegram", "topic deleted", lambda stand, to: stand.platform.chats.delete_topic(GROUP, int(to.thread or 0))
    ),
    Closing("telegram", "bot kicked", lambda stand, _: stand.platform.chats.block(GROUP), False, "telegram:42"),
    Closing(
        "telegram", "bot left", lambda stand, _: stand.platform.chats.keep_out(BOT_ID, GROUP), False, "telegram:42"
    ),
    Closing("discord", "thread archived and locked", _discord(50083)),
    Closing("discord", "thread locked", _discord(160005)),
    Closing("discord", "thread deleted", _discord(10003, times=2)),
    Closing("discord", "channel deleted", _discord(10003), False, "ada"),
    Closing("discord", "no access", _discord(50001), False, "ada"),
    Closing("slack", "thread deleted", lambda stand, _: _refuse_on_slack(stand, "thread_not_found")),
    Closing("slack", "channel archived", lambda stand, _: _on_slack(stand, archived=True), False, "slack:T0001:U0ADA"),
    Closing("slack", "bot removed", lambda stand, _: _on_slack(stand, member=False), False, "slack:T0001:U0ADA"),
    Closing("slack", "channel gone", lambda stand, _: _on_slack(stand, visible=False), False, "slack:T0001:U0ADA"),
]


async def _send(stand: Stand, to: Address, text: str) -> str:
    return await stand.adapter.send(to, text, speaker=Speaker("1000", "Writer"), nonce=f"n.{text}", final=True)


async def _further(stand: Stand, closing: Closing, place: Address) -> Address:
    if place.thread is not None:
        return replace(place, thread=None)
    assert isinstance(stand.adapter, CanWriteAlone)
    person = f"discord:{stand.platform.world.ada.id}" if closing.person == "ada" else closing.person  # type: ignore[attr-defined]
    alone = await stand.adapter.private_with(place, person)
    assert alone is not None
    return alone


@pytest.mark.parametrize("closing", CLOSINGS, ids=lambda one: f"{one.platform}: {one.what}")
async def test_a_closed_place_refuses_for_good_and_the_next_one_takes_it(closing: Closing) -> None:
    async with stand_of(closing.platform) as stand:
        place = await stand.topic() if closing.in_thread else stand.group
        assert place is not None
        closing.close(stand, place)
        with pytest.raises((NotDelivered, MessageGone)):
            await _send(stand, place, "one")
        further = await _further(stand, closing, place)
        await _send(stand, further, "two")
        assert (await stand.seen(further))[-1].text.endswith("two")
