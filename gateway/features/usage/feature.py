"""What the count of use adds to Parley."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.feature import EntrancePart, Feature, FeatureDoor, FeatureGround, ServingGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from gateway.features.usage.ledger import Ledger


def _ledger(ground: FeatureGround) -> Ledger:
    from gateway.features.usage.ledger import ledger_in

    return ledger_in(ground.connection, ground.clock)


def _entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    return EntrancePart({"usage": _ledger(ground).answer})


def _node(ground: FeatureGround, serving: ServingGround) -> None:
    """Counts from the start of the process, and takes no part in sessions."""
    if serving.answers is not None:
        serving.tasks.start_soon(_ledger(ground).follow, serving.answers)


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.usage.routes import usage_route

    return (usage_route(_ledger(ground), door),)


async def _status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    return {"spent_today": await _ledger(ground).spent_today()}


async def _models(ground: FeatureGround, names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    return await _ledger(ground).of_models(names)


usage = Feature("usage", entrance=_entrance, node=_node, views=_views, status=_status, models=_models)
