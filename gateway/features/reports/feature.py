"""What reports add to Parley."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gateway.feature import EntrancePart, Feature, FeatureDoor, FeatureGround, ServingGround

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from runtime.sessions.features import NodePart


def _entrance(ground: FeatureGround, serving: ServingGround) -> EntrancePart:
    from gateway.features.reports.decisions import decisions_in
    from gateway.features.reports.desk import CHOICES, notices_in

    notices_in(ground, serving).start(serving.tasks)
    decisions = decisions_in(ground.database, ground.clock)
    return EntrancePart(choices={CHOICES: decisions.chosen})


def _node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    from gateway.features.reports.node import open_node

    return open_node(ground, serving)


def _views(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    from gateway.features.reports.decisions import ReportRoutes, decisions_in
    from gateway.features.reports.redis import RedisReports

    decisions = decisions_in(ground.database, ground.clock)
    return ReportRoutes(RedisReports(ground.connection), decisions, door).routes()


async def _practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    from gateway.features.reports.decisions import failures_of
    from gateway.features.reports.redis import RedisReports

    return {"failures": await failures_of(RedisReports(ground.connection), program)}


async def _status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    from gateway.features.reports.redis import RedisReports

    reports = await RedisReports(ground.connection).all()
    return {"decisions": {"reports": sum(not report.decided for report in reports)}}


reports = Feature("reports", entrance=_entrance, node=_node, views=_views, practice=_practice, status=_status)
