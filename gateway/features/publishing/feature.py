"""What events that programs publish add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureGround, ServingGround, TriedGround

if TYPE_CHECKING:
    from runtime.sessions.features import NodePart


def _calls() -> tuple[type, ...]:
    from gateway.features.publishing.calls import PublishCalls

    return (PublishCalls,)


def _node(ground: FeatureGround, _: ServingGround) -> NodePart:
    from gateway.features.publishing.node import open_node

    return open_node(ground)


def _tried(_: TriedGround) -> NodePart:
    from gateway.features.publishing.node import NodePublishing

    return NodePublishing()


publishing = Feature("publishing", calls=_calls, node=_node, tried=_tried)
