"""What ratings add to Parley."""

from __future__ import annotations

from gateway.feature import EntrancePart, Feature, LatePart

feedback = Feature(
    "feedback",
    entrance=lambda ground, _: EntrancePart(rates=ground.settings.feedback),
    node=LatePart("feedback.ledger:open_node"),
    practice=LatePart("feedback.ledger:practice"),
)
