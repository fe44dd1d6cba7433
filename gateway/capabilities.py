"""The features of Parley, in the order of dependency. Their facts are known once this is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.features.a2a.feature import a2a
from gateway.features.approvals.feature import approvals
from gateway.features.feedback.feature import feedback
from gateway.features.files.feature import files
from gateway.features.hours.feature import hours
from gateway.features.mcp.feature import mcp
from gateway.features.memories.feature import memories
from gateway.features.notebooks.feature import notebooks
from gateway.features.participants.feature import participants
from gateway.features.publishing.feature import publishing
from gateway.features.pushes.feature import pushes
from gateway.features.remote.feature import remote
from gateway.features.reports.feature import reports
from gateway.features.schedules.feature import schedules
from gateway.features.scratch.feature import scratch
from gateway.features.tasks.feature import tasks
from gateway.features.usage.feature import usage
from gateway.features.voice.feature import voice

if TYPE_CHECKING:
    from gateway.feature import TriedGround
    from runtime.sessions.features import NodePart

FEATURES = (
    files,
    voice,
    participants,
    remote,
    tasks,
    reports,
    memories,
    schedules,
    publishing,
    feedback,
    usage,
    hours,
    mcp,
    a2a,
    pushes,
    approvals,
    scratch,
    notebooks,
)


def tried(ground: TriedGround) -> list[NodePart]:
    """What features do in sessions that are held in memory alone. Raises ConfigError."""
    return [part for one in FEATURES if (part := one.tried(ground)) is not None]
