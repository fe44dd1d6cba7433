"""How models and tool servers answer, as all processes have seen it since they began."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from adapters.records import Records
from gateway.overview.services.tallies import Seen, SeenServer, Tallies, Tally
from gateway.overview.sharing import SharedView
from runtime.core.clock import Clock

SERVICES_TABLE = "nodes:services"
"""What each process has seen, by its node, JSON."""


class SharedServices(SharedView):
    """What the process of `node` has seen of models and servers, and what the others have. Of a failure at another
    process its time is known; its words stay there, in the log.
    """

    def __init__(self, seen: Seen, records: Records, node: str, clock: Clock) -> None:
        super().__init__("services", seen, records, node, clock)
        self._here = seen

    async def models(self, living: Collection[str]) -> Mapping[str, Tally]:
        """The tallies by the models' names, at this process and those of the `living` nodes. Raises StorageError."""
        found = Tallies()
        found.add(self._here.models.tallies.all())
        for other in await self.others(living):
            found.add(Tallies.read(other["models"]).all())
        return found.all()

    async def servers(self, living: Collection[str]) -> Mapping[str, SeenServer]:
        """The servers by the agents whose tools they have, as with models."""
        found: dict[str, SeenServer] = {}
        for agent, seen in self._here.servers.known.items():
            found.setdefault(agent, SeenServer()).add(seen)
        for other in await self.others(living):
            for agent, data in other["servers"].items():
                found.setdefault(agent, SeenServer()).add(SeenServer.read(data))
        return found
