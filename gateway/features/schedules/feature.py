"""What schedules add to Parley."""

from __future__ import annotations

from gateway.feature import Feature, Later
from gateway.features.schedules import facts as facts  # their kinds and rules

schedules = Feature(
    "schedules",
    calls=[Later("schedules.calls:ScheduleCalls")],
    check=Later("schedules.cron:check_schedules"),
    lines=Later("schedules.cron:lines"),
    node=Later("schedules.node:open_node"),
    jobs=Later("schedules.cron:jobs_of"),
    views=Later("schedules.routes:schedule_routes"),
)
