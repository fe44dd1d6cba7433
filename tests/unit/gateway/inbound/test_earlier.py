"""What a program is told of what was said before: bounded, and only by those who may be heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest

from adapters.adapter import Adapter, Inbound
from gateway.access.admission import Access
from gateway.access.roles import Role
from gateway.inbound.earlier import ContextLimits, EarlierMessages
from runtime.core.address import Address
from runtime.core.errors import NotDelivered
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.sessions.inbound.past import EarlierWords
from runtime.stores.inbox import InboxEvent
from tests.unit.gateway.inbound.arrivals import NOW, event, opened, people

pytestmark = pytest.mark.anyio

HERE = Address("test", "-5", "t1")
ASKED = InboxEvent("e1", HERE, "test:42", "Ada", "sum this up", NOW, message_id="m9", private=False)


class History:
    """A platform that tells this of its past."""

    def __init__(self, said: Sequence[Inbound] | Exception) -> None:
        self._said = said
        self.asked: list[tuple[Address, str, int]] = []

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        self.asked.append((to, before, at_most))
        if isinstance(self._said, Exception):
            raise self._said
        return self._said


@dataclass(frozen=True)
class Place:
    adapter: Adapter
    access: Access


def said(text: str, person: str = "42", **more: Any) -> Inbound:
    one = event(text, person=person, chat="-5", thread="t1", private=False, addressed=False, **more)
    return replace(one, person_id=one.person_id if person else "", person_name="Ada" if person else "Grafana")


async def told(history: History, limits: ContextLimits | None = None, access: Access | None = None) -> EarlierWords:
    place = Place(cast("Adapter", history), access or await opened("open"))
    return await EarlierMessages({"test": place}, limits or ContextLimits()).before(ASKED)


async def test_it_is_told_with_names_times_bots_cards_and_files() -> None:
    file = Attachment("a.png", "image/png", "test:1")
    card = Quote("", "", "CPU", "card")
    history = History([said("one", attachments=(file,)), said("", person="", around=(card,))])
    words = await told(history)
    assert words.said == (
        Quote("m1", "Ada", "one", "said", ("a.png",), (), NOW, "test:42"),
        Quote("m1", "Grafana", "", "bot", (), (card,), NOW),
    )
    assert words.files == (file,)
    assert history.asked == [(HERE, "m9", 50)]


async def test_who_may_not_be_heard_is_not_in_the_past_of_others() -> None:
    access = await opened(store=people(_42=Role.MEMBER, _43=Role.BLOCKED, _44=Role.GUEST))
    history = History(
        [said("mine"), said("blocked", "43"), said("guest", "44"), said("stranger", "45"), said("bot", "")]
    )
    assert [one.text for one in (await told(history, access=access)).said] == ["mine", "bot"]


async def test_the_latest_are_kept_within_the_limits() -> None:
    old = replace(said("old"), sent_at=NOW - timedelta(hours=3))
    voice = Attachment("v.ogg", "audio/ogg", "test:v")
    files = tuple(Attachment(f"{n}.png", "image/png", f"test:{n}") for n in range(3))
    history = History([old, said("x" * 90), said("one"), said("two", attachments=(*files, voice))])
    words = await told(history, ContextLimits(messages=9, chars=50, hours=2, files=2))
    assert [one.text for one in words.said] == ["one", "two"]
    assert [file.name for file in words.files] == ["1.png", "2.png"]


@pytest.mark.parametrize("trouble", [NotDelivered("no"), KeyError("x"), TimeoutError()])
async def test_a_platform_that_does_not_tell_stops_nothing(trouble: Exception) -> None:
    assert await told(History(trouble)) == EarlierWords()


async def test_nobody_is_asked_where_it_is_switched_off_or_the_platform_tells_nothing() -> None:
    history = History([said("one")])
    assert await told(history, ContextLimits(messages=0)) == EarlierWords()
    assert history.asked == []
    silent = Place(cast("Adapter", object()), await opened("open"))
    assert await EarlierMessages({"test": silent}, ContextLimits()).before(ASKED) == EarlierWords()
    assert await EarlierMessages({}, ContextLimits()).before(ASKED) == EarlierWords()
    await anyio.lowlevel.checkpoint()
