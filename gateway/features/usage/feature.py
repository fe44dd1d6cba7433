"""What the count of use adds to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

usage = Feature(
    "usage",
    entrance=LatePart("usage.ledger:entrance"),
    node=LatePart("usage.ledger:open_node"),
    views=LatePart("usage.ledger:usage_routes"),
    status=LatePart("usage.ledger:status"),
    models=LatePart("usage.ledger:models"),
)
