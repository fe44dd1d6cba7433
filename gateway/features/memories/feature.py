"""What memories, which programs have of people from one conversation to another, add to Parley."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateway.feature import EntrancePart, Feature, FeatureGround, ServingGround, TriedGround
from gateway.features.memories import facts as facts  # their kinds and rules

if TYPE_CHECKING:
    from gateway.inbound.routing import Routes
    from gateway.settings.tree import Settings
    from runtime.language.program import Program
    from runtime.sessions.features import NodePart


def _calls() -> tuple[type, ...]:
    from gateway.features.memories.calls import MemoryCalls

    return (MemoryCalls,)


def _judge(settings: Settings, routes: Routes, programs: Mapping[str, Program]) -> None:
    from gateway.features.memories.node import remembers

    remembers(programs, routes.memory, otherwise=settings.memory.on)


def _entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    from gateway.features.memories.node import command_in

    return EntrancePart({"memory": command_in(ground)})


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.memories.node import open_node

    return open_node(ground, serving)


def _tried(ground: TriedGround) -> NodePart:
    from gateway.features.memories.node import tried

    return tried(ground)


memories = Feature("memories", calls=_calls, judge=_judge, entrance=_entrance, node=_node, tried=_tried)
