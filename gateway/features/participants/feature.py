"""What participants, agents that are played in other processes, add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

participants = Feature(
    "participants",
    judge=lambda settings, _, programs: settings.participants.check(programs.values()),
    node=Later("participants.door:open_node"),
    pages=Later("participants.door:open_desk"),
)
