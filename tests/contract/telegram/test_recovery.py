"""A message whose sending was not answered is found again, and nothing else is ever touched."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import CanRecover, FileData, HearsShare
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.presenter import PagePresenter
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from adapters.telegram.outbound.message_ids import TRIES
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import OutcomeUncertain, RateLimited
from runtime.core.page import PageSpec
from runtime.events.happening import Happening
from tests.contract.telegram.speaking import ADA, HOST, US, new_adapter, send
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio

EVE = Address("telegram", "43")
HOST_TOKEN = "777:HOST-token_of_the_fake_server_000000000"


async def lose(adapter: TelegramAdapter, platform: TelegramPlatform, *, to: Address = ADA, landed: bool = True) -> None:
    platform.fail("sendMessage", "bad_gateway", applied=landed)
    with pytest.raises(OutcomeUncertain):
        await adapter.send(to, "beginning", speaker=HOST, nonce="p.0", final=False)


async def find(adapter: TelegramAdapter, *, to: Address = ADA, text: str = "beginning and more") -> str | None:
    """Look for it as long as that is worth a call."""
    while adapter.searches(to, "p.0", speaker=HOST):
        found = await adapter.recover(to, text, speaker=HOST, nonce="p.0")
        if found is not None:
            return found
    return None


def texts(platform: TelegramPlatform, chat: int = PERSON) -> list[str]:
    return [message.text for message in platform.messages(chat)]


async def test_it_is_found_at_the_first_try_and_shows_the_newest_text(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    await lose(adapter, platform)
    found = await find(adapter)
    assert texts(platform) == ["before", "beginning and more"]
    assert found == str(platform.messages(PERSON)[1].message_id)
    assert len(platform.calls_of("editMessageText")) == 1
    assert not adapter.left_copy(ADA, "p.0", speaker=HOST)


async def test_it_is_found_where_it_shows_the_text_already(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    await lose(adapter, platform)
    assert await find(adapter, text="beginning") is not None
    assert texts(platform) == ["before", "beginning"]


async def test_each_try_is_one_edit_and_after_the_last_it_is_sent_again(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    await lose(adapter, platform, landed=False)
    assert await find(adapter) is None
    assert len(platform.calls_of("editMessageText")) == TRIES
    await adapter.send(ADA, "beginning", speaker=HOST, nonce="p.0", final=False)
    assert texts(platform) == ["before", "beginning"]
    assert not adapter.left_copy(ADA, "p.0", speaker=HOST)


async def test_a_flood_and_an_unclear_answer_pass_and_it_is_found_at_the_same_number(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    await lose(adapter, platform)
    platform.fail("editMessageText", "flood", retry_after=7)
    with pytest.raises(RateLimited) as caught:
        await find(adapter)
    assert caught.value.retry_after_s == 7
    platform.fail("editMessageText", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await find(adapter)
    assert await find(adapter) == str(platform.messages(PERSON)[1].message_id)
    assert texts(platform) == ["before", "beginning and\u00a0more"]


async def test_what_people_write_meanwhile_is_not_tried(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    async with adapter.connect() as inbound:
        await send(adapter, "before")
        theirs = [platform.message_of(platform.say("first"))]
        await anext(inbound)
        await lose(adapter, platform)
        for text in ("second", "third"):
            theirs.append(platform.message_of(platform.say(text)))
            await anext(inbound)
        assert await find(adapter) is not None
    tried = [call.params["message_id"] for call in platform.calls_of("editMessageText")]
    assert not set(tried) & set(theirs)
    assert len(tried) == 1


async def test_a_persons_message_that_we_have_not_heard_of_cannot_be_changed(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    theirs = platform.message_of(platform.say("mine, not yours"))
    await lose(adapter, platform)
    assert await find(adapter) is not None
    statuses = {call.params["message_id"]: call.status for call in platform.calls_of("editMessageText")}
    assert statuses == {theirs: 400, theirs + 1: 200}
    assert texts(platform) == ["before", "beginning and more"]


async def test_our_other_messages_and_files_are_not_tried(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await send(adapter, "before")
    await lose(adapter, platform, landed=False)
    await adapter.send(ADA, "a notice", speaker=HOST, nonce="q.0", final=True)
    await adapter.upload(ADA, FileData("a.txt", "text/plain", b"x"), "", speaker=HOST, nonce="r.0")
    await send(adapter, "another chat", to=US)
    assert await find(adapter) is None
    assert texts(platform) == ["before", "a notice", ""]
    ours = {message.message_id for message in platform.messages(PERSON)}
    assert not ours & {call.params["message_id"] for call in platform.calls_of("editMessageText")}


async def test_a_post_under_way_is_waited_for_before_the_search(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    async with aclosing(new_adapter(replace(options, call_timeout_s=3.0))) as adapter:
        await send(adapter, "before")
        await lose(adapter, platform, landed=False)
        platform.fail("sendMessage", "hang", applied=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send_in_vain, adapter, platform)
            await platform.until(lambda: len(platform.calls_of("sendMessage")) == 3)
            assert adapter.searches(ADA, "p.0", speaker=HOST)
            await adapter.recover(ADA, "beginning", speaker=HOST, nonce="p.0")
    assert platform.calls_of("editMessageText") != []


async def _send_in_vain(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    with pytest.raises(OutcomeUncertain):
        await adapter.send(ADA, "another", speaker=HOST, nonce="q.0", final=True)
    assert platform.calls_of("editMessageText") == []


async def test_the_first_message_of_a_process_is_not_looked_for(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await lose(adapter, platform)
    assert not adapter.searches(ADA, "p.0", speaker=HOST)
    await adapter.send(ADA, "beginning", speaker=HOST, nonce="p.0", final=False)
    assert adapter.left_copy(ADA, "p.0", speaker=HOST)


async def test_nothing_is_looked_for_while_other_nodes_post(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    assert isinstance(adapter, HearsShare)
    assert isinstance(adapter, CanRecover)
    adapter.granted(0.5)
    await send(adapter, "before")
    await lose(adapter, platform)
    assert not adapter.searches(ADA, "p.0", speaker=HOST)


async def test_it_is_found_in_a_topic_of_a_supergroup(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open_topic(GROUP, 9)
    topic = replace(US, thread="9")
    await send(adapter, "before", to=topic)
    await lose(adapter, platform, to=topic)
    assert await find(adapter, to=topic) is not None
    assert texts(platform, GROUP) == ["Host\nbefore", "Host\nbeginning and more"]


async def test_an_agents_bot_finds_its_own(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.add_bot(HOST_TOKEN, "HostBot", "Host")
    async with aclosing(new_adapter(replace(options, agents={"Host": HOST_TOKEN}))) as adapter:
        await send(adapter, "before", to=US)
        await lose(adapter, platform, to=US)
        assert str(await find(adapter, to=US)).startswith("777/")
    assert texts(platform, GROUP) == ["before", "beginning and more"]


@dataclass
class Shown:
    events: list[str] = field(default_factory=list)
    parts: dict[int, str] = field(default_factory=dict)

    async def opening(self, part: int, text: str, /) -> None: ...
    async def grows(self, text: str, /) -> None: ...

    async def sent(self, part: int, platform_id: str, /) -> None:
        self.parts[part] = platform_id

    def note(self, what: Happening) -> None:
        self.events.append(what.name)


@asynccontextmanager
async def presented(adapter: TelegramAdapter) -> AsyncIterator[tuple[PagePresenter, Shown]]:
    clock, shown = SystemClock(), Shown()
    async with anyio.create_task_group() as tasks:
        scheduler = EditScheduler(adapter.capabilities.total_budget, clock, tasks)
        yield PagePresenter(adapter, scheduler, clock, on_event=shown.note, tasks=tasks), shown
        tasks.cancel_scope.cancel()


async def test_a_page_stands_once_though_the_answer_to_its_first_text_was_lost(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    platform.fail("sendMessage", "bad_gateway", applied=True)
    async with presented(adapter) as (presenter, shown):
        assert await presenter.page(PageSpec("p", ADA, HOST), shown).finish("the whole *text*")
    assert texts(platform) == ["before", "the whole text"]
    assert (shown.parts[0], shown.events) == (str(platform.messages(PERSON)[1].message_id), ["page.checked"])


async def test_a_page_is_sent_again_where_the_lost_message_is_not_there(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "before")
    platform.fail("sendMessage", "bad_gateway")
    async with presented(adapter) as (presenter, shown):
        assert await presenter.page(PageSpec("p", ADA, HOST), shown).finish("text")
    assert texts(platform) == ["before", "text"]
    assert shown.events == ["page.checked"]


async def test_a_copy_that_may_stand_is_told(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.fail("sendMessage", "bad_gateway", applied=True)
    async with presented(adapter) as (presenter, shown):
        assert await presenter.page(PageSpec("p", ADA, HOST), shown).finish("text")
    assert texts(platform) == ["text", "text"]
    assert shown.events == ["page.orphaned", "page.checked"]
