"""What reports add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later

reports = Feature(
    "reports",
    entrance=Later("reports.decisions:entrance"),
    node=Later("reports.node:open_node"),
    views=Later("reports.decisions:report_routes"),
    practice=Later("reports.decisions:practice"),
    status=Later("reports.decisions:status"),
)
