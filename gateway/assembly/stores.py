"""The gateway's stores in the database: a function for each. Imports what it uses when it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import gateway.capabilities  # noqa: F401 - the facts of features
from gateway.access.people import PEOPLE_TABLE, REQUESTS_TABLE, TOLD_TABLE, AccessRequest, KnownPeople
from runtime.core.clock import Clock, SystemClock
from runtime.core.ids import SessionId
from runtime.stores.inbox import NOTICE, InboxEvent
from runtime.tape.snapshot import Snapshot

if TYPE_CHECKING:
    from adapters.records import ChangedTogether
    from gateway.clients.feed import EventFeed
    from gateway.cluster.node import ClusterNode
    from gateway.cluster.roster import NodeDrains
    from gateway.console.door import LoginLinks
    from gateway.inbound.usage_limits import PersonLimits
    from gateway.observability.watching import NodeGauges
    from gateway.overview.status import GatewayShards
    from gateway.programs.versions import KeptVersions, VersionPins
    from runtime.sandbox.monty import MontySandbox
    from runtime.sessions.registry import ConversationRegistry
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.storage.redis.rooms import RedisRoomNews
    from runtime.stores.inbox import Inbox


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


def versions_in(connection: RedisConnection, clock: Clock) -> KeptVersions:
    """The programs that nodes have served, from the database, without the calls of extensions."""
    from gateway.programs.versions import TEXTS_TABLE, VERSIONS_TABLE, KeptVersions

    return KeptVersions(records_in(connection, VERSIONS_TABLE), records_in(connection, TEXTS_TABLE), clock)


def links_in(connection: RedisConnection, clock: Clock) -> LoginLinks:
    from gateway.console.door import LINKS_TABLE, LoginLinks

    return LoginLinks(records_in(connection, LINKS_TABLE), clock)


def drains_in(connection: RedisConnection) -> NodeDrains:
    from gateway.cluster.roster import DRAINS_TABLE, NodeDrains

    return NodeDrains(records_in(connection, DRAINS_TABLE))


def person_limits_in(connection: RedisConnection) -> PersonLimits:
    from gateway.inbound.usage_limits import PERSON_LIMITS_TABLE, PersonLimits

    return PersonLimits(records_in(connection, PERSON_LIMITS_TABLE))


def snapshots_in(connection: RedisConnection) -> Callable[[SessionId, str, int], Awaitable[Snapshot | None]]:
    """The newest snapshot of a session that is not after a fact, of a version of the rules, from the database."""
    from runtime.storage.redis.sessions.store import RedisSessionStore

    store = RedisSessionStore(connection)
    return lambda session, version, seq: store.snapshot(session, version, until=seq)


def shards_in(connection: RedisConnection) -> GatewayShards:
    from gateway.overview.status import GatewayShards
    from runtime.storage.redis.leases import RedisNodeStore, RedisShardView

    nodes, fronts = RedisNodeStore(connection), RedisNodeStore(connection, fronts=True)
    view = RedisShardView(connection)
    return GatewayShards(nodes, fronts, view.holders, view.awake, view.waiting)


async def tell_later(connection: RedisConnection, request: AccessRequest, text: str) -> None:
    """Have the gateway tell somebody who asked for access the answer: now, or when it runs again.

    Raises InboxFull and StorageUnavailable.
    """
    from runtime.storage.redis.inbox import RedisInbox

    id_, now = f"access.{request.code}", SystemClock().now()
    notice = InboxEvent(id_, request.address, request.person_id, request.name, text, now, kind=NOTICE)
    await RedisInbox(connection).add(notice)


def inbox_in(connection: RedisConnection) -> Inbox:
    from runtime.storage.redis.inbox import RedisInbox

    return RedisInbox(connection)


def feed_in(connection: RedisConnection, clock: Clock) -> EventFeed:
    from gateway.clients.feed import READERS_TABLE, ClientReaders, EventFeed
    from gateway.clients.journals import ClosedRooms
    from runtime.storage.redis.event_log import RedisEventLog
    from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
    from runtime.storage.redis.sessions.store import RedisSessionStore

    rooms = ClosedRooms(RedisSessionCatalog(connection), RedisSessionStore(connection))
    return EventFeed(RedisEventLog(connection), ClientReaders(records_in(connection, READERS_TABLE), clock), rooms)


def gauges_of(
    node: ClusterNode, registry: ConversationRegistry, sandbox: MontySandbox, connection: RedisConnection
) -> NodeGauges:
    from gateway.observability.watching import NodeGauges
    from runtime.storage.redis.leases import RedisShardView

    return NodeGauges(
        lambda: node.shards,
        lambda: len(registry),
        lambda: sum(registry.loads().values()),
        lambda: sandbox.busy,
        lambda: sandbox.workers,
        lambda: sandbox.wrapping.jailed,
        RedisShardView(connection).waiting,
    )


def front_gauges(connection: RedisConnection) -> NodeGauges:
    """The sources of the gauges of a front, which serves no conversation and has no workers."""
    from gateway.observability.watching import NodeGauges
    from runtime.storage.redis.leases import RedisShardView

    return NodeGauges(frozenset, int, int, int, int, bool, RedisShardView(connection).waiting)
