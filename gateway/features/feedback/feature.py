"""What ratings add to Parley."""

from __future__ import annotations

from gateway.feature import EntrancePart, Feature, Later

feedback = Feature(
    "feedback",
    entrance=lambda ground, _: EntrancePart(rates=ground.settings.feedback),
    node=Later("feedback.ledger:open_node"),
    practice=Later("feedback.ledger:practice"),
)
