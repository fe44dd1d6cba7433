"""The rooms of the web chat: what holds in them, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from adapters.web.acts import PLATFORM
from adapters.web.adapter import RoomRules, RoomTables
from adapters.web.charters.charters import CHARTERS_TABLE
from adapters.web.charters.directory import DIRECTORY_TABLE
from adapters.web.charters.shown_files import FILES_TABLE
from gateway.access.admission import Owners
from gateway.assembly.stores import people_in
from gateway.assembly.voices import recorded_s
from gateway.catalog import rules_of
from gateway.web.names import ReservedNames, names_of_agents
from runtime.storage.redis.records import RedisRecords

if TYPE_CHECKING:
    from gateway.settings.tree import Settings
    from runtime.core.clock import Clock
    from runtime.language.program import Program
    from runtime.storage.redis.client.connection import RedisConnection

_TABLES = (CHARTERS_TABLE, DIRECTORY_TABLE, FILES_TABLE)
"""In the order of `RoomTables`."""


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


def room_rules(ground: Ground) -> RoomRules:
    """What holds in all rooms."""
    settings, agents = ground.settings, names_of_agents(ground.programs.values())
    owners = Owners(people_in(ground.connection, ground.clock), {PLATFORM: rules_of(settings, PLATFORM)})
    titled, known = settings.encryption.keys is None, ReservedNames(agents).__contains__
    tables = RoomTables(*(RedisRecords(ground.connection, table) for table in _TABLES))
    return RoomRules(
        *(titled, known, settings.web.mentions_only, sorted(agents), owners.has, tables), voice_s=recorded_s(settings)
    )
