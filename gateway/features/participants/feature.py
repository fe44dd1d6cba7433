"""What participants, agents that are played in other processes, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

participants = Feature(
    "participants",
    judge=lambda settings, _, programs: settings.participants.check(programs.values()),
    node=LatePart("participants.door:open_node"),
    pages=LatePart("participants.door:open_desk"),
)
