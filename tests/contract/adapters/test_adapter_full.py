"""What every platform comes to when no more can be taken: people are told, and nothing is brought again for ever."""

from __future__ import annotations

import anyio
import pytest

from gateway.access.admission import AccessRules, PlatformAccess
from gateway.inbound.router import InboundRouter
from runtime.core.clock import SystemClock
from runtime.core.errors import ConversationFull, InboxFull
from tests.contract.stands.stand import Stand
from tests.unit.gateway.inbound.arrivals import TEXTS, Door, people

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("full", [InboxFull("full"), ConversationFull("crowded", bound=200)])
async def test_who_is_not_taken_in_is_told_and_the_platform_brings_it_no_more(stand: Stand, full: InboxFull) -> None:
    access = PlatformAccess(stand.adapter.name, AccessRules("open"), people(), SystemClock())
    door = Door(access)
    door.inbox.fault = full
    router = InboundRouter(stand.adapter, access, door.entrance)
    texts = TEXTS.marked(stand.adapter.capabilities.command_mark)
    told = texts("inbound.crowded", limit=200) if isinstance(full, ConversationFull) else texts("inbound.full")
    async with stand.listening() as inbound:
        await stand.say("first", stand.private)
        await router.take(await anext(inbound))
        assert door.told == [(stand.private.key, told)]
        door.inbox.fault = None
        await stand.say("second", stand.private)
        with anyio.fail_after(60):
            await router.take(await anext(inbound))
        await stand.say("third", stand.private)
        with anyio.fail_after(60):
            await router.take(await anext(inbound))
    assert [text for _, text, _ in door.kept] == ["second", "third"]
