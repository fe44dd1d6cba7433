"""`GET /bus/v1/tools`: the servers of remote agents, and the calls of their tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer
from gateway.feature import FeatureDoor
from gateway.overview.services.tallies import SeenServer, SharedServices
from runtime.language.program import Program
from runtime.language.remote import remote_of


@dataclass(frozen=True, slots=True)
class ToolRoutes:
    """The requests about servers of tools."""

    door: FeatureDoor
    programs: Mapping[str, Program]
    seen: SharedServices
    processes: Callable[[], Awaitable[Collection[str]]]
    """Those that live."""

    def routes(self) -> list[BaseRoute]:
        """The route, to be mounted with those of the bus."""
        return [Route("/tools", self.some, methods=["GET"])]

    async def some(self, request: Request) -> Response:
        """The servers by the agents whose tools they have, also those that nobody has asked yet."""
        client = self.door.reader(request)
        named: dict[str, SeenServer] = {}
        of_programs: dict[str, list[str]] = {}
        for program in self.programs.values():
            for agent in program.agents:
                spec = remote_of(agent)
                if spec is not None:
                    named[agent.name] = SeenServer(spec.shown)
                    of_programs.setdefault(agent.name, []).append(program.name)
        named |= await self.seen.servers(await self.processes())
        return answer(
            {
                "servers": [
                    {
                        **server.data(agent, content=client.scopes.content),
                        "programs": sorted(of_programs.get(agent, [])),
                    }
                    for agent, server in sorted(named.items())
                ]
            }
        )
