"""`/bus/v1/models` and `/bus/v1/tools`: the models of the settings, what they are asked for, and how they answer; the
servers of remote agents, and the calls of their tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.requests import BusClient, answer
from gateway.clients.views import GatewayView, acts, looks
from gateway.models.answers import ask, counted, question_for
from gateway.overview.tallies import SeenServer, SharedServices, Tally
from runtime.core.errors import LLMError
from runtime.events.happening import Tell
from runtime.language.program import Program
from runtime.language.remote import servers_of
from runtime.llm.chain import ChainLink, ModelChain, ModelCooldown
from runtime.llm.client import LLMClient, Usage
from runtime.llm.models import DEFAULT, PURPOSES, SERVICES, ModelRegistry, NoModelClient

_TRIED_WITHIN_S = 30.0
"""The time limit of a test call to one model."""


class ModelRoutes(GatewayView, frozen=True):
    """The requests about models. `models` are None where this process executes no programs; `tell` hears what test
    calls have used. `of_features` is what features show of models, these and others, by name.
    """

    models: ModelRegistry | None
    seen: SharedServices
    processes: Callable[[], Awaitable[Collection[str]]]
    """Those that live."""
    tell: Tell
    of_features: Callable[[Collection[str]], Awaitable[Mapping[str, Mapping[str, Any]]]]

    @looks("/models")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The models by their names in the settings, each with its chain; and all models that were asked lately, with
        what they cost in 30 days."""
        content = client.scopes.content
        cooling = {} if self.models is None or self.models.cooldowns is None else await self.models.cooldowns.current()
        entries = {} if self.models is None else self.models.all_clients
        tallies = await self.seen.models(await self.processes())
        told = await self.of_features(tallies)
        return answer(
            {
                "here": self.models is not None,
                "models": [_entry(name, entries[name], cooling) for name in sorted(entries, key=_order)],
                "asked": [
                    {"model": name, **told.get(name, {}), **tallies.get(name, Tally()).data(content=content)}
                    for name in sorted(told.keys() | tallies.keys())
                ],
            }
        )

    @acts("/models/{model}/test")
    async def test(self, request: Request, _: BusClient) -> Response:
        """Ask every model of a name once, as `parley check` does. One that answers is not held back any more."""
        name = str(request.path_params["model"])
        found = None if self.models is None else self.models.all_clients.get(name)
        if self.models is None or found is None:
            raise HTTPException(404, "This process has no such model.")
        tried = [await self._tried(self.models, name, link) for link in _links(name, found)]
        return answer({"model": name, "tried": tried})

    async def _tried(self, models: ModelRegistry, name: str, link: tuple[str, LLMClient]) -> dict[str, Any]:
        entry, client = link
        began, error = perf_counter(), None

        def count(used: Usage) -> None:
            if used.input_tokens or used.output_tokens or used.cost_usd:
                self.tell(counted(client, "check", used, perf_counter() - began))

        try:
            await ask(client, question_for([name]), _TRIED_WITHIN_S, count)
        except TimeoutError:
            error = f"no answer within {_TRIED_WITHIN_S:g} s"
        except LLMError as failed:
            error = str(failed)
        if error is None and models.cooldowns is not None:
            await models.cooldowns.end(entry)
        return {"entry": entry, "model": client.model, "took_s": round(perf_counter() - began, 3), "error": error}


def _order(name: str) -> tuple[bool, str]:
    return name != DEFAULT, name


def _entry(name: str, client: LLMClient, cooling: Mapping[str, ModelCooldown]) -> dict[str, Any]:
    purposes = sorted(purpose for purpose, whose in {**PURPOSES, **SERVICES}.items() if whose == name)
    return {
        "name": name,
        "purposes": ["execute"] if name == DEFAULT else purposes,
        "missing": client.reason if isinstance(client, NoModelClient) else None,
        "chain": [
            {"entry": entry, "model": one.model, "cooling": _cooling(cooling.get(entry))}
            for entry, one in _links(name, client)
            if not isinstance(one, NoModelClient)
        ],
    }


def _links(name: str, client: LLMClient) -> list[tuple[str, LLMClient]]:
    """The models of a name in the order in which they are asked, each with its own name in the settings."""
    links: list[ChainLink] = list(client.links) if isinstance(client, ModelChain) else []
    return [(link.name, link.client) for link in links] or [(name, client)]


def _cooling(found: ModelCooldown | None) -> dict[str, Any] | None:
    if found is None:
        return None
    until = datetime.fromtimestamp(found.until_s, UTC).isoformat()
    return {"until": until, "times": found.times, "why": found.why}


class ToolRoutes(GatewayView, frozen=True):
    programs: Mapping[str, Program]
    seen: SharedServices
    processes: Callable[[], Awaitable[Collection[str]]]
    """Those that live."""

    @looks("/tools")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The servers by the agents whose tools they have, also those that nobody has asked yet."""
        named: dict[str, SeenServer] = {}
        of_programs: dict[str, list[str]] = {}
        for program in self.programs.values():
            for agent, spec in servers_of([program]):
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
