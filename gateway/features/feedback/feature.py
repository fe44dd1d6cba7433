"""What ratings add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gateway.feature import FeatureGround, ServingGround
    from runtime.sessions.features import NodePart


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart | None:
    if not ground.settings.feedback:
        return None
    from gateway.features.feedback.node import open_node

    return open_node(ground, serving)


async def _practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    from gateway.features.feedback.ledger import feedback_in

    return {"ratings": await feedback_in(ground.connection, ground.clock).of_program(program)}


feedback = Feature("feedback", node=_node, practice=_practice)
