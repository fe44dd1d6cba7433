"""What servers of remote agents add to Parley."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureGround, ServingGround, TriedGround
from runtime.core.clock import SystemClock
from runtime.language.remote import servers_of

if TYPE_CHECKING:
    from gateway.settings.tree import Settings
    from runtime.language.program import Program
    from runtime.sessions.features import NodePart


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart | None:
    if not servers_of(ground.programs.values()):
        return None
    from gateway.features.remote.node import open_node

    return open_node(ground, serving)


def _tried(ground: TriedGround) -> NodePart | None:
    if ground.tasks is None or not servers_of([ground.program]):
        return None
    from gateway.features.remote.node import NodeTools, tools_of

    return NodeTools(tools_of(ground.settings, [ground.program], SystemClock(), ground.bus, ground.tasks))


async def _asked(settings: Settings, programs: Mapping[str, Program]) -> str | None:
    if not servers_of(programs.values()):
        return None
    from gateway.features.remote.node import asked

    return await asked(settings, programs.values())


remote = Feature("remote", node=_node, tried=_tried, asked=_asked, unasked="no program has an agent with `remote:`")
