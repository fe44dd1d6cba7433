"""What memories, which programs have of people from one conversation to another, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart
from gateway.features.memories import facts as facts  # their kinds and rules

memories = Feature(
    "memories",
    calls=[LatePart("memories.session_memory:SessionMemory")],
    judge=LatePart("memories.node:judge"),
    entrance=LatePart("memories.node:entrance"),
    node=LatePart("memories.node:open_node"),
    tried=LatePart("memories.node:tried"),
)
