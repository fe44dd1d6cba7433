"""What schedules add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, LatePart
from gateway.features.schedules import facts as facts  # their kinds and rules

schedules = Feature(
    "schedules",
    calls=[LatePart("schedules.schedules:ScheduleCalls")],
    check=LatePart("schedules.cron:check_schedules"),
    lines=LatePart("schedules.cron:lines"),
    node=LatePart("schedules.node:open_node"),
    jobs=LatePart("schedules.cron:jobs_of"),
    views=LatePart("schedules.cron:schedule_routes"),
)
