"""What participants, agents that are played in other processes, add to Parley."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureGround, ServingGround, WebGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from gateway.inbound.routing import Routes
    from gateway.settings.tree import Settings
    from runtime.language.program import Program
    from runtime.sessions.features import NodePart


def _judge(settings: Settings, _: Routes, programs: Mapping[str, Program]) -> None:
    settings.participants.check(programs.values())


def _node(ground: FeatureGround, _: ServingGround) -> NodePart:
    from gateway.features.participants.door import NodeParticipants, mailboxes_in

    return NodeParticipants(mailboxes_in(ground))


def _pages(ground: FeatureGround, _: WebGround) -> Sequence[BaseRoute]:
    if not ground.settings.participants.tokens:
        return ()
    from gateway.features.participants.door import desk_in

    return [desk_in(ground).route]


participants = Feature("participants", judge=_judge, node=_node, pages=_pages)
