"""What notifications of browsers add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute

    from gateway.feature import FeatureGround, WebGround


def _pages(ground: FeatureGround, web: WebGround) -> Sequence[BaseRoute]:
    from gateway.features.pushes.door import open_pushes

    return open_pushes(ground, web)


pushes = Feature("pushes", pages=_pages)
