"""What events that programs publish add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

publishing = Feature(
    "publishing",
    calls=[LatePart("publishing.calls:PublishCalls")],
    node=LatePart("publishing.node:open_node"),
    tried=LatePart("publishing.node:tried"),
)
