"""What the count by hours adds to Parley."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.feature import Feature, FeatureGround, ServingGround

if TYPE_CHECKING:
    from gateway.features.hours.ledger import HourLedger


def _ledger(ground: FeatureGround) -> HourLedger:
    from gateway.features.hours.ledger import hours_in

    return hours_in(ground.connection, ground.clock)


def _node(ground: FeatureGround, serving: ServingGround) -> None:
    """Counts beside the sessions, and takes no part in them."""
    serving.tasks.start_soon(_ledger(ground).follow, ground.bus)


async def _status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    return {"last_day": {"hours": await _ledger(ground).last_day()}}


hours = Feature("hours", node=_node, status=_status)
