"""What notifications of browsers add to Parley."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureGround, WebGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


def _pages(ground: FeatureGround, web: WebGround) -> Sequence[BaseRoute]:
    from gateway.features.pushes.door import open_pushes

    return open_pushes(ground, web)


pushes = Feature("pushes", pages=_pages)
