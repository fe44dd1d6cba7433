"""How people log in to the web chat, made from what the gateway stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from adapters.web.acts import PLATFORM
from adapters.web.board import Board
from gateway.access.roles import Role
from gateway.assembly.stores import access_news, people_in
from gateway.web.app import WebOptions
from gateway.web.logins.invited import InvitedLogIn
from gateway.web.logins.proxied import ProxiedLogIn
from gateway.web.logins.team import TEAM_TABLE, NotAdmitted, Team
from gateway.web.names import ReservedNames, names_of_agents
from gateway.web.pushes.pusher import Pusher
from gateway.web.pushes.subscriptions import SUBSCRIPTIONS_TABLE, Subscriptions
from runtime.storage.redis.records import RedisRecords

if TYPE_CHECKING:
    from gateway.settings.connections.platforms import WebSettings
    from gateway.settings.tree import Settings
    from runtime.core.clock import Clock
    from runtime.language.program import Program
    from runtime.storage.redis.client.connection import RedisConnection

_FIRST_LINK_LASTS_S = 3600


class Ground(Protocol):
    """What it is made from; see `gateway.assembly.foundation.Foundation`."""

    @property
    def settings(self) -> Settings: ...

    @property
    def connection(self) -> RedisConnection: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def programs(self) -> Mapping[str, Program]: ...


def team_in(settings: Settings, connection: RedisConnection, clock: Clock, reserved: ReservedNames) -> Team:
    """The team, from the database."""
    return Team(
        RedisRecords(connection, TEAM_TABLE),
        people_in(connection, clock),
        clock,
        reserved,
        owners=frozenset(settings.web.owners),
        news=access_news(connection, "").tell,
    )


def with_people(options: WebOptions, ground: Ground, board: Board) -> WebOptions:
    """The options of the web server, with the way to log in that the settings choose, and with notifications."""
    subscriptions = Subscriptions(RedisRecords(ground.connection, SUBSCRIPTIONS_TABLE))
    options = replace(_with_log_in(options, ground), pushes=subscriptions)
    logged_in = _everybody if options.log_in is None else options.log_in.is_logged_in
    pusher = Pusher(subscriptions, board, logged_in, ground.clock, _contact(ground.settings.web))
    board.on_said = pusher.said
    ground.connection.start_soon(pusher.run)
    return options


def _contact(web: WebSettings) -> str:
    """Where the operators of push services find who runs this gateway, as far as the settings say."""
    return f"https://{web.public_hosts[0]}" if web.public_hosts else "mailto:operator@localhost"


async def _everybody(_person_id: str, _device: str) -> bool:
    """Where people have no log-ins, none ends."""
    return True


def _with_log_in(options: WebOptions, ground: Ground) -> WebOptions:
    own = ground.settings.web
    if own.login == "password":
        return options
    ground.connection.start_soon(partial(options.pages.heed, access_news(ground.connection, "")))
    reserved = ReservedNames(names_of_agents(ground.programs.values()))
    if own.login == "invite":
        team = team_in(ground.settings, ground.connection, ground.clock, reserved)
        return replace(options, log_in=InvitedLogIn(team, ground.clock))
    names, people = RedisRecords(ground.connection, TEAM_TABLE), people_in(ground.connection, ground.clock)
    return replace(options, log_in=ProxiedLogIn(own.trusted_header, names, people, reserved))


async def first_owner_lines(ground: Ground, port: int) -> list[str]:
    """What the gateway says at the start where a team has no owner yet: a link that makes one."""
    own = ground.settings.web
    if own.login != "invite" or own.owners or not ground.settings.nodes.people_come:
        return []
    if await people_in(ground.connection, ground.clock).has_owner(PLATFORM):
        return []
    team = team_in(ground.settings, ground.connection, ground.clock, ReservedNames())
    try:
        link = await team.invite(Role.OWNER, "Parley", lasts_s=_FIRST_LINK_LASTS_S)
    except NotAdmitted as error:
        return [f"{PLATFORM:<10} nobody is an owner yet, and no link can be made: {error}"]
    return [
        f"{PLATFORM:<10} nobody is an owner yet; who follows this link within an hour is: "
        f"{link_to(_here(own.host, port), link)}"
    ]


def link_to(url: str, secret: str) -> str:
    """The address of an invitation. The secret stands behind the #, which browsers keep to themselves."""
    return f"{url}/#invite={secret}"


def address_of(web: WebSettings) -> str:
    """The address under which people reach the web chat, as far as the settings say."""
    if web.public_hosts:
        return f"https://{web.public_hosts[0]}"
    return _here(web.host, web.port)


def _here(host: str, port: int) -> str:
    """The address under which a browser on this machine finds the gateway."""
    near = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"http://{f'[{near}]' if ':' in near else near}:{port}"
