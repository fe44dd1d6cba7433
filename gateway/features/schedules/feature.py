"""What schedules add to Parley."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureDoor, FeatureGround, ServingGround
from gateway.features.schedules import facts as facts  # their kinds and rules

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from gateway.inbound.routing import Routes
    from gateway.jobs.runner import Job
    from gateway.settings.tree import Settings
    from runtime.sessions.features import NodePart


def _calls() -> tuple[type, ...]:
    from gateway.features.schedules.calls import ScheduleCalls

    return (ScheduleCalls,)


def _check(settings: Settings, routes: Routes, platforms: Mapping[str, bool]) -> None:
    from gateway.features.schedules.cron import check_schedules

    check_schedules(settings.cron, routes, platforms)


def _lines(settings: Settings, routes: Routes, now: datetime) -> Sequence[str]:
    from gateway.features.schedules.cron import build_schedules

    return [schedule.line(now) for schedule in build_schedules(settings.cron, routes)]


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.schedules.node import open_node

    return open_node(ground, serving)


def _jobs(ground: FeatureGround) -> Sequence[Job]:
    from gateway.features.schedules.cron import jobs_of

    return jobs_of(ground)


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.schedules.routes import ScheduleRoutes

    return ScheduleRoutes(ground, door).routes()


schedules = Feature("schedules", calls=_calls, check=_check, lines=_lines, node=_node, jobs=_jobs, views=_views)
