"""The log-in of people to the web chat, and the rules of its rooms, made from the gateway's foundation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from adapters.web.acts import PLATFORM
from adapters.web.adapter import RoomTables
from adapters.web.charters import CHARTERS_TABLE, FILES_TABLE, HUES_TABLE
from adapters.web.gatherings import DIRECTORY_TABLE
from adapters.web.rooms import MAX_TEXT, RoomRules
from gateway.access.admission import PlatformAccess, PlatformOwners
from gateway.access.people import Role
from gateway.assembly.announcement import url_here
from gateway.assembly.foundation import GatewayFoundation
from gateway.assembly.stores import access_news, links_in, people_in
from gateway.catalog import rules_of
from gateway.inbound.commands import COMMANDS, PROGRAM_ROLE
from gateway.settings.operation import client_scopes
from gateway.settings.tree import Settings
from gateway.web.app import Barred
from gateway.web.identity import ReservedNames, WebIdentities, names_of_agents
from gateway.web.logins.door import LogIn, OpenPages, PasswordLogIn
from gateway.web.logins.team import TEAM_TABLE, LoginTeam, NotAdmitted
from gateway.web.logins.team_logins import InvitedLogIn, ProxiedLogIn
from runtime.agents.loops import begins
from runtime.llm.client import TRANSCRIBE
from runtime.llm.models import SERVICES
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import HTTPConnection

    from adapters.web.codec import WebVisitor
    from gateway.settings.platforms import WebSettings
    from runtime.core.clock import Clock

_FIRST_LINK_LASTS_S = 3600

_TABLES = (CHARTERS_TABLE, DIRECTORY_TABLE, FILES_TABLE, HUES_TABLE)
"""In the order of `RoomTables`."""


def team_in(settings: Settings, connection: RedisConnection, clock: Clock, reserved: ReservedNames) -> LoginTeam:
    return LoginTeam(
        RedisRecords(connection, TEAM_TABLE),
        people_in(connection, clock),
        clock,
        reserved,
        owners=frozenset(settings.web.owners),
        news=access_news(connection, "").tell,
    )


def owner_asked(log_in: LogIn, owners: PlatformOwners) -> Callable[[HTTPConnection], Awaitable[WebVisitor | None]]:
    """Who finds the owner of the chat that a request comes from, None for others. Raises StorageUnavailable."""

    async def owner(request: HTTPConnection) -> WebVisitor | None:
        person = await log_in.person(request)
        return person if person is not None and await owners.has(person.id) else None

    return owner


def barred_from(foundation: GatewayFoundation, owners: PlatformOwners, access: PlatformAccess) -> Barred:
    """Who knows the commands that somebody in the chat may not give. Raises StorageUnavailable."""

    async def barred(person: WebVisitor) -> Sequence[str]:
        member = Role.MEMBER if await access.is_member(person.id, "") else Role.GUEST
        role = Role.OWNER if await owners.has(person.id) else member
        programs = [] if role >= PROGRAM_ROLE else list(foundation.routes.commands)
        return [*(name for name, command in COMMANDS.items() if role < command.least), *programs]

    return barred


def log_in_of(foundation: GatewayFoundation, identities: WebIdentities, pages: OpenPages) -> LogIn:
    """The way to log in that the settings choose; `pages` are closed whose people may not look any more."""
    own, clock = foundation.settings.web, foundation.clock
    reserved = ReservedNames(names_of_agents(foundation.programs.values()))
    if own.login == "password":
        return PasswordLogIn(identities, reserved, clock)
    news = access_news(foundation.connection, "")
    foundation.connection.start_soon(partial(news.listen, pages.check_all, pages.check))
    if own.login == "invite":
        return InvitedLogIn(team_in(foundation.settings, foundation.connection, clock, reserved), clock)
    names, people = RedisRecords(foundation.connection, TEAM_TABLE), people_in(foundation.connection, clock)
    return ProxiedLogIn(own.trusted_header, names, people, reserved)


async def first_owner_lines(foundation: GatewayFoundation, port: int) -> list[str]:
    """What the gateway says at the start where the chat has no owner yet: a link that makes one in a team, else one
    that leads to the console once."""
    own, settings = foundation.settings.web, foundation.settings
    if own.owners or not settings.nodes.people_come:
        return []
    if await people_in(foundation.connection, foundation.clock).has_owner(PLATFORM):
        return []
    if own.login != "invite":
        if not settings.web.for_this_machine or settings.console.has_passwords:
            return []
        secret = await links_in(foundation.connection, foundation.clock).new()
        return [
            f"{'console':<10} its owner comes in once, within an hour: {url_here(own.host, port)}/console#link={secret}"
        ]
    team = team_in(foundation.settings, foundation.connection, foundation.clock, ReservedNames())
    try:
        link = await team.invite(Role.OWNER, "Parley", lasts_s=_FIRST_LINK_LASTS_S)
    except NotAdmitted as error:
        return [f"{PLATFORM:<10} nobody is an owner yet, and no link can be made: {error}"]
    return [
        f"{PLATFORM:<10} nobody is an owner yet; the person who follows this link within an hour is: "
        f"{link_to(url_here(own.host, port), link)}"
    ]


def link_to(url: str, secret: str) -> str:
    """The address of an invitation. The secret stands behind the #, which browsers keep to themselves."""
    return f"{url}/#invite={secret}"


def address_of(web: WebSettings) -> str:
    """The address under which people reach the web chat, as far as the settings say."""
    if web.public_hosts:
        return f"https://{web.public_hosts[0]}"
    return url_here(web.host, web.port)


def room_tables(connection: RedisConnection) -> RoomTables:
    rooms = RedisRoomStore(connection, platform=PLATFORM)
    return RoomTables(rooms, *(RedisRecords(connection, table) for table in _TABLES))


def room_rules(foundation: GatewayFoundation) -> RoomRules:
    settings, agents = foundation.settings, names_of_agents(foundation.programs.values())
    people = people_in(foundation.connection, foundation.clock)
    owners = PlatformOwners(people, {PLATFORM: rules_of(settings, PLATFORM)})
    titled, known = settings.encryption.keys is None, ReservedNames(agents).__contains__

    async def shut_out(ids: Collection[str]) -> Collection[str]:
        roles = {person.id: person.role for person in await people.all()}
        others = Role.BLOCKED if settings.web.login == "invite" else Role.GUEST
        return {
            id_
            for id_ in ids
            if roles.get(id_, others) is Role.BLOCKED and id_.removeprefix(f"{PLATFORM}:") not in settings.web.owners
        }

    scopes = client_scopes(settings.clients).values()
    return RoomRules(
        *(titled, known, settings.web.mentions_only, _answering(foundation), owners.has),
        shut_out=shut_out,
        overseen=settings.console.private or any(one.content and one.private for one in scopes),
        begins=lambda command: command in foundation.routes.commands,
        max_text=min(MAX_TEXT, settings.limits.message_chars),
        voice_s=settings.voice.seconds if SERVICES[TRANSCRIBE] in settings.models else 0,  # nobody listens elsewhere
    )


def _answering(foundation: GatewayFoundation) -> list[str]:
    """The names of the agents that people can write to alone: those with which the web's program begins."""
    program = foundation.programs.get(foundation.routes.first_on(PLATFORM) or "")
    return [] if program is None else sorted(agent.name for agent in program.agents if begins(agent))
