"""What the count of use adds to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

usage = Feature(
    "usage",
    entrance=LatePart("usage.routes:entrance"),
    node=LatePart("usage.routes:open_node"),
    views=LatePart("usage.routes:usage_routes"),
    status=LatePart("usage.routes:status"),
    models=LatePart("usage.routes:models"),
)
