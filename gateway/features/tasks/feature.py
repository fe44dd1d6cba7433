"""What tasks, which programs have done in the background, add to Parley."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureDoor, FeatureGround, ServingGround, TriedGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from runtime.sessions.features import NodePart


def _calls() -> tuple[type, ...]:
    from gateway.features.tasks.calls import TaskCalls, TellCalls

    return (TaskCalls, TellCalls)


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.tasks.node import open_node

    return open_node(ground, serving)


def _tried(ground: TriedGround) -> NodePart:
    from gateway.features.tasks.node import NodeTasks

    return NodeTasks(ground.settings.tasks.limits)


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.tasks.register import KnownTaskRoutes, register_in

    return KnownTaskRoutes(door, register_in(ground.database, ground.clock)).routes()


tasks = Feature("tasks", calls=_calls, node=_node, tried=_tried, views=_views)
