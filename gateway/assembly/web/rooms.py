"""The rooms of the web chat: what holds in them, and where it is kept."""

from __future__ import annotations

from collections.abc import Collection

from adapters.web.acts import PLATFORM
from adapters.web.adapter import RoomRules, RoomTables
from adapters.web.charters import CHARTERS_TABLE, FILES_TABLE
from adapters.web.gatherings import DIRECTORY_TABLE
from gateway.access.admission import Owners
from gateway.access.people import Role
from gateway.assembly.foundation import Foundation
from gateway.assembly.stores import people_in
from gateway.assembly.voices import recorded_s
from gateway.catalog import rules_of
from gateway.settings.connections.clients import client_scopes
from gateway.web.names import ReservedNames, names_of_agents
from runtime.agents.loops import begins
from runtime.storage.redis.records import RedisRecords

_TABLES = (CHARTERS_TABLE, DIRECTORY_TABLE, FILES_TABLE)
"""In the order of `RoomTables`."""


def room_rules(foundation: Foundation) -> RoomRules:
    """What holds in all rooms."""
    settings, agents = foundation.settings, names_of_agents(foundation.programs.values())
    people = people_in(foundation.connection, foundation.clock)
    owners = Owners(people, {PLATFORM: rules_of(settings, PLATFORM)})
    titled, known = settings.encryption.keys is None, ReservedNames(agents).__contains__
    tables = RoomTables(*(RedisRecords(foundation.connection, table) for table in _TABLES))

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
        *(titled, known, settings.web.mentions_only, _answering(foundation), owners.has, tables),
        shut_out=shut_out,
        overseen=settings.console.private or any(one.content and one.private for one in scopes),
        begins=lambda command: command in foundation.routes.commands,
        voice_s=recorded_s(settings),
    )


def _answering(foundation: Foundation) -> list[str]:
    """The names of the agents that people can write to alone: those with which the web's program begins."""
    program = foundation.programs.get(foundation.routes.first_on(PLATFORM) or "")
    return [] if program is None else sorted(agent.name for agent in program.agents if begins(agent))
