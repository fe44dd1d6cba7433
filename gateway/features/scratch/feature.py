"""What scratch rooms add to Parley: copies of sessions, spoken to and changed at the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureDoor, FeatureGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.scratch.routes import scratch_routes

    return scratch_routes(ground, door)


scratch = Feature("scratch", views=_views)
