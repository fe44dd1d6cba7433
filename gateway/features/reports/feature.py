"""What reports add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart

reports = Feature(
    "reports",
    entrance=LatePart("reports.decisions:entrance"),
    node=LatePart("reports.node:open_node"),
    views=LatePart("reports.decisions:report_routes"),
    practice=LatePart("reports.decisions:practice"),
    status=LatePart("reports.decisions:status"),
)
