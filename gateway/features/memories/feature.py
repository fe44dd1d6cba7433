"""What memories, which programs have of people from one conversation to another, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later
from gateway.features.memories import facts as facts  # their kinds and rules

memories = Feature(
    "memories",
    calls=[Later("memories.calls:MemoryCalls")],
    judge=Later("memories.node:judge"),
    entrance=Later("memories.node:entrance"),
    node=Later("memories.node:open_node"),
    tried=Later("memories.node:tried"),
)
