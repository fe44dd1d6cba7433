"""What every adapter does that can open conversations beside others."""

from __future__ import annotations

import pytest

from adapters.adapter import CanOpenThread
from runtime.core.address import Address, Speaker
from tests.contract.stands.parts import needs
from tests.contract.stands.stand import Stand

pytestmark = pytest.mark.anyio

WRITER = Speaker("1000", "Writer")


async def opened(stand: Stand, to: Address, nonce: str, title: str = "Another way") -> Address:
    assert isinstance(stand.adapter, CanOpenThread)
    thread = await stand.adapter.open_thread(to, title, nonce=nonce)
    assert thread is not None
    return thread


async def place(stand: Stand) -> Address:
    found = await stand.open_place()
    assert found is not None
    return found


async def test_the_capability_says_whether_conversations_can_be_opened(stand: Stand) -> None:
    can = isinstance(stand.adapter, CanOpenThread)
    assert stand.adapter.capabilities.threads == can == (await stand.open_place() is not None)


@needs("threads")
async def test_what_was_opened_is_a_conversation_in_which_we_speak_and_hear(stand: Stand) -> None:
    thread = await opened(stand, await place(stand), "f.1")
    message = await stand.adapter.send(thread, "here we go on", speaker=WRITER, nonce="t.0", final=True)
    async with stand.listening() as inbound:
        await stand.say("within", thread)
        item = await anext(inbound)
        while item.text != "within":
            item = await anext(inbound)
    assert (item.address, item.addressed) == (thread, True)
    assert message.partition("@")[0] in [each.id for each in await stand.seen(thread)]


@needs("threads")
async def test_each_nonce_gets_a_conversation_of_its_own(stand: Stand) -> None:
    here = await place(stand)
    first, second = await opened(stand, here, "f.1"), await opened(stand, here, "f.2")
    assert len({here.key, first.key, second.key}) == 3


@needs("threads", "nonces")
async def test_the_same_nonce_gets_the_same_conversation(stand: Stand) -> None:
    here = await place(stand)
    assert await opened(stand, here, "f.1") == await opened(stand, here, "f.1")


@needs("threads", "nonces")
async def test_a_restart_finds_the_conversation_that_was_opened(stand: Stand) -> None:
    here = await place(stand)
    thread = await opened(stand, here, "f.1")
    async with stand.another() as adapter:
        assert isinstance(adapter, CanOpenThread)
        assert await adapter.open_thread(here, "Another way", nonce="f.1") == thread


@needs("threads")
async def test_from_within_a_thread_another_is_opened_beside_it(stand: Stand) -> None:
    within = await opened(stand, await place(stand), "f.1")
    beside = await opened(stand, within, "f.2")
    assert beside.key != within.key
    assert (beside.thread is None) == (within.thread is None)


@needs("threads")
async def test_a_link_leads_to_what_was_opened(stand: Stand) -> None:
    thread = await opened(stand, await place(stand), "f.1")
    assert isinstance(stand.adapter, CanOpenThread)
    link = await stand.adapter.link(thread)
    assert link is not None
    assert (thread.thread or thread.conversation).replace(".", "") in link


@needs("threads", "places without threads")
async def test_where_none_can_be_opened_that_is_told(stand: Stand) -> None:
    assert stand.threadless is not None
    assert isinstance(stand.adapter, CanOpenThread)
    assert await stand.adapter.open_thread(stand.threadless, "Another way", nonce="f.1") is None


@needs("threads")
async def test_a_long_title_is_shortened(stand: Stand) -> None:
    assert await opened(stand, await place(stand), "f.1", "word " * 60) is not None
