"""What tasks, which programs have done in the background, add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from gateway.feature import FeatureDoor, FeatureGround


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.tasks.register import register_in
    from gateway.features.tasks.routes import KnownTaskRoutes

    return KnownTaskRoutes(door, register_in(ground.database, ground.clock)).routes()


tasks = Feature("tasks", views=_views)
