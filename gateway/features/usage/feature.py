"""What the count of use adds to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

usage = Feature(
    "usage",
    entrance=Later("usage.routes:entrance"),
    node=Later("usage.routes:open_node"),
    views=Later("usage.routes:usage_routes"),
    status=Later("usage.routes:status"),
    models=Later("usage.routes:models"),
)
