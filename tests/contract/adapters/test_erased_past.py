"""Who is forgotten is forgotten with what their words were told to others for, on each platform."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.adapter import Adapter, Inbound
from gateway.access.admission import PlatformAccess
from gateway.inbound.earlier import EarlierMessages
from gateway.settings.operation import ContextSettings
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.core.quote import all_quotes, quotes_to_data
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.kept import RedisKeptWords
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.tape import Fact, session_tape
from tests.contract.setups import SEALING
from tests.contract.stands.kinds import stand_of
from tests.contract.stands.stand import Stand
from tests.contract.storage_samples import T0, shard_lease
from tests.contract.stores.operation.test_traces import erasure
from tests.unit.gateway.inbound.arrivals import opened

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Place:
    adapter: Adapter
    access: PlatformAccess


async def _asked_after(stand: Stand, past: EarlierMessages) -> InboxEvent:
    """Ada says something among people, and then asks the bot in the same place."""
    async with stand.listening() as inbound:
        first = await stand.say("a secret", stand.group, addressed=False)
        place = replace(stand.group, thread=first) if stand.adapter.name == "slack" else stand.group
        text = "<@U0BOT> sum this up" if stand.adapter.name == "slack" else "sum this up"
        asked = await stand.say(text, place)
        async for item in inbound:
            await past.keep(item)
            if item.message_id == asked:
                return _as_event(item, place)
    raise AssertionError("the connection ended")


def _as_event(item: Inbound, place: Address) -> InboxEvent:
    who = item.person_id, item.person_name
    return InboxEvent("e1", place, *who, item.text, item.sent_at, message_id=item.message_id)


async def _begun_with(connection: RedisConnection, event: InboxEvent) -> None:
    """A session that has what was said before, as its first message has it."""
    session = SessionId("s1")
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(event.address.key))
    people = sorted({quote.person for quote in all_quotes(None, event.past) if quote.person})
    facts = (
        Fact(session_tape(session), 1, "quoted", T0, {"people": people}),
        Fact(session_tape(session), 2, "said", T0, {"past": quotes_to_data(event.past)}),
    )
    begin = SessionRecord(session, event.address, "hello", T0, 0)
    await RedisSessionStore(connection).commit(Commit(lease, session, 0, facts=facts, begin=begin))


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord", "web"])
async def test_what_somebody_said_goes_with_them_from_the_past_of_others(platform: str, valkey_socket: Path) -> None:
    async with (
        open_connection(valkey_socket, patience_s=20, sealing=SEALING) as connection,
        stand_of(platform) as stand,
    ):
        places = {platform: Place(stand.adapter, await opened("open"))}
        limits = ContextSettings(keep_hours=24)
        past = EarlierMessages(places, limits, RedisKeptWords(connection), SystemClock())
        event = await _asked_after(stand, past)
        words = await past.before(event)
        assert [(one.text, one.person) for one in words.said] == [("a secret", event.person_id)]
        await _begun_with(connection, replace(event, past=words.said))
        assert (await erasure(connection).person(event.person_id)).sessions == ("s1",)
        if platform == "telegram":
            assert (await past.before(event)).said == ()
