"""What scratch rooms add to Parley: copies of sessions, spoken to and changed at the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from gateway.feature import FeatureDoor, FeatureGround


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.scratch.routes import scratch_routes

    return scratch_routes(ground, door)


scratch = Feature("scratch", views=_views)
