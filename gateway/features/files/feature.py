"""What files, which people send and programs read and send, add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import Feature

if TYPE_CHECKING:
    from gateway.feature import FeatureGround, ServingGround, TriedGround
    from runtime.sessions.features import NodePart


def _calls() -> tuple[type, ...]:
    from gateway.features.files.calls import FileCalls

    return (FileCalls,)


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.files.node import open_node

    return open_node(ground, serving)


def _tried(ground: TriedGround) -> NodePart | None:
    from gateway.features.files.node import tried

    return tried(ground)


files = Feature("files", calls=_calls, node=_node, tried=_tried)
