"""What answers from elsewhere to questions and to tools that ask add to Parley."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.feature import Feature, FeatureDoor, FeatureGround, ServingGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from runtime.sessions.features import NodePart


def _node(ground: FeatureGround, _: ServingGround) -> NodePart | None:
    if not ground.settings.is_overseen:
        return None
    from gateway.features.approvals.register import register_in

    return register_in(ground)


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.approvals.routes import question_routes

    return question_routes(ground, door)


async def _status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    """What owners decide: whether a tool may be used. What a program asks is for who chats with it."""
    from gateway.features.approvals.register import register_in

    places = await register_in(ground).all()
    return {"decisions": {"questions": sum(place.approval for place in places)}}


approvals = Feature("approvals", node=_node, views=_views, status=_status)
