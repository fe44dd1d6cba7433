"""What voices, recordings put into words and answers that are spoken, add to Parley."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.feature import EntrancePart, Feature
from gateway.features.voice import facts as facts  # their kinds and rules

if TYPE_CHECKING:
    from gateway.feature import FeatureGround, ServingGround, TriedGround
    from runtime.sessions.features import NodePart


def _entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    from gateway.features.voice.node import command_in

    return EntrancePart({"voice": command_in(ground)})


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.voice.node import open_node

    return open_node(ground, serving)


def _tried(ground: TriedGround) -> NodePart | None:
    from gateway.features.voice.session import NodeVoices
    from gateway.outbound.file_source import NodeFileAccess

    return None if ground.files is None else NodeVoices(NodeFileAccess({}, ground.files))


voice = Feature("voice", entrance=_entrance, node=_node, tried=_tried)
