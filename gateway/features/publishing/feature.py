"""What events that programs publish add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

publishing = Feature(
    "publishing",
    calls=[Later("publishing.calls:PublishCalls")],
    node=Later("publishing.node:open_node"),
    tried=Later("publishing.node:tried"),
)
