"""What notebooks, which are clients' own tapes, add to Parley."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import Feature, FeatureGround, TapeGround

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from starlette.routing import Mount

    from gateway.jobs.runner import Job


def _jobs(ground: FeatureGround) -> Sequence[Job]:
    from gateway.features.notebooks.retention import retention_in

    return (retention_in(ground.database).job(ground.bus),)


def _tapes(ground: TapeGround, tasks: TaskGroup) -> Sequence[Mount]:
    from gateway.features.notebooks.door import open_door

    return (open_door(ground, tasks),)


notebooks = Feature("notebooks", jobs=_jobs, tapes=_tapes)
