"""The gateway's stores in the database: a function for each. Imports what it uses when it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import gateway.capabilities  # noqa: F401 - the facts of features
from gateway.access.people import PEOPLE_TABLE, REQUESTS_TABLE, TOLD_TABLE, AccessRequest, KnownPeople
from runtime.core.clock import Clock, SystemClock
from runtime.stores.inbox import NOTICE, InboxEvent

if TYPE_CHECKING:
    from adapters.records import ChangedTogether
    from gateway.clients.feed import EventFeed
    from gateway.cluster.roster import NodeDrains
    from gateway.console.door import LoginLinks
    from gateway.inbound.usage_limits import PersonLimits
    from gateway.programs.versions import VersionPins
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.storage.redis.rooms import RedisRoomNews


def records_in(connection: RedisConnection, table: str) -> ChangedTogether:
    from runtime.storage.redis.records import RedisRecords

    return RedisRecords(connection, table)


def people_in(connection: RedisConnection, clock: Clock) -> KnownPeople:
    people, requests, told = (records_in(connection, table) for table in (PEOPLE_TABLE, REQUESTS_TABLE, TOLD_TABLE))
    return KnownPeople(people, requests, told, clock, access_news(connection, "").tell)


def access_news(connection: RedisConnection, node: str) -> RedisRoomNews:
    """News among nodes of people whose access has changed, by their ids."""
    from runtime.storage.redis.rooms import RedisRoomNews

    return RedisRoomNews(connection, node, "{parley:access}:news")


def news_by(connection: RedisConnection, who: str, channel: str) -> Callable[[], Awaitable[None]]:
    """Tell all nodes that there is something new, such as that programs are to be reloaded; `who` is no node."""
    from runtime.storage.redis.rooms import RedisRoomNews

    news = RedisRoomNews(connection, who, channel)
    return lambda: news.tell(who)


def pins_in(connection: RedisConnection, clock: Clock) -> VersionPins:
    from gateway.programs.versions import PINS_TABLE, VERSIONS_TABLE, VersionPins

    return VersionPins(records_in(connection, PINS_TABLE), records_in(connection, VERSIONS_TABLE), clock)


def links_in(connection: RedisConnection, clock: Clock) -> LoginLinks:
    from gateway.console.door import LINKS_TABLE, LoginLinks

    return LoginLinks(records_in(connection, LINKS_TABLE), clock)


def drains_in(connection: RedisConnection) -> NodeDrains:
    from gateway.cluster.roster import DRAINS_TABLE, NodeDrains

    return NodeDrains(records_in(connection, DRAINS_TABLE))


def person_limits_in(connection: RedisConnection) -> PersonLimits:
    from gateway.inbound.usage_limits import PERSON_LIMITS_TABLE, PersonLimits

    return PersonLimits(records_in(connection, PERSON_LIMITS_TABLE))


async def tell_later(connection: RedisConnection, request: AccessRequest, text: str) -> None:
    """Have the gateway tell somebody who asked for access the answer: now, or when it runs again.

    Raises InboxFull and StorageUnavailable.
    """
    from runtime.storage.redis.inbox import RedisInbox

    id_, now = f"access.{request.code}", SystemClock().now()
    notice = InboxEvent(id_, request.address, request.person_id, request.name, text, now, kind=NOTICE)
    await RedisInbox(connection).add(notice)


def feed_in(connection: RedisConnection, clock: Clock) -> EventFeed:
    from gateway.clients.feed import READERS_TABLE, ClientReaders, EventFeed
    from gateway.clients.journals import ClosedRooms
    from runtime.storage.redis.event_log import RedisEventLog
    from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
    from runtime.storage.redis.sessions.store import RedisSessionStore

    rooms = ClosedRooms(RedisSessionCatalog(connection), RedisSessionStore(connection))
    return EventFeed(RedisEventLog(connection), ClientReaders(records_in(connection, READERS_TABLE), clock), rooms)
