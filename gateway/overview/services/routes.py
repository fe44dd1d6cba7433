"""The routes about what programs, models and tools do, from what all processes have seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.routing import BaseRoute, Route

from adapters.records import Records
from gateway.overview.services.models import ModelRoutes
from gateway.overview.services.practice import PracticeRoute, SeenRefusals
from gateway.overview.services.shared_tallies import SharedServices
from gateway.overview.services.tools import ToolRoutes
from gateway.overview.sources import Sources
from gateway.programs.pins import Pins
from runtime.bus import Bus
from runtime.language.program import Program
from runtime.llm.models import Models


@dataclass(frozen=True, slots=True)
class ServiceGround:
    """The foundation of the routes: the bus of this process, its models, what nodes saw, two tables of records."""

    bus: Bus
    models: Models | None
    seen: SharedServices
    versions: Records
    of_features: Callable[[str], Awaitable[Mapping[str, Any]]]
    """What features say of how a program does."""
    of_models: Callable[[Collection[str]], Awaitable[Mapping[str, Mapping[str, Any]]]]
    """What they say of models."""
    reload: Callable[[], Awaitable[None]]
    """Asks all nodes for a reload."""
    pins: Pins
    tell_pins: Callable[[], Awaitable[None]]
    """Has all nodes look at what is rolled back."""


def service_routes(sources: Sources, programs: Mapping[str, Program], ground: ServiceGround) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the bus."""
    models = ModelRoutes(sources, ground.models, ground.seen, ground.bus.publish, ground.of_models)
    tools = ToolRoutes(sources, programs, ground.seen)
    practice = PracticeRoute(
        sources,
        programs,
        SeenRefusals(ground.bus),
        ground.versions,
        ground.of_features,
        ground.reload,
        ground.pins,
        ground.tell_pins,
    )
    return [
        Route("/models", models.some, methods=["GET"]),
        Route("/models/{model}/test", models.test, methods=["POST"]),
        Route("/tools", tools.some, methods=["GET"]),
        Route("/programs/reload", practice.reload, methods=["POST"]),
        Route("/programs/{program}/rollback", practice.roll_back, methods=["POST"]),
        Route("/programs/{program}/practice", practice.look, methods=["GET"]),
    ]
