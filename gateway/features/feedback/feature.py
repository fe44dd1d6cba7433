"""What ratings add to Parley."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.feature import EntrancePart, Feature, FeatureGround, ServingGround

if TYPE_CHECKING:
    from runtime.sessions.features import NodePart


def _entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    return EntrancePart(rates=ground.settings.feedback)


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart | None:
    if not ground.settings.feedback:
        return None
    from gateway.features.feedback.ledger import open_node

    return open_node(ground, serving)


async def _practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    from gateway.features.feedback.ledger import feedback_in

    return {"ratings": await feedback_in(ground.connection, ground.clock).of_program(program)}


feedback = Feature("feedback", entrance=_entrance, node=_node, practice=_practice)
