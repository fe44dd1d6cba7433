"""The settings for tasks."""

from __future__ import annotations

from pydantic import Field

from gateway.settings.forms import Section
from runtime.execution.calls.tasks import TaskLimits


class TaskSettings(Section):
    """The limits of tasks: how deep tasks may order tasks, how many tasks of one orderer may run at once, and how many
    seconds each may take unless its order says otherwise.
    """

    depth: int = Field(default=3, ge=1, le=20)
    at_once: int = Field(default=8, ge=1, le=200)
    within_s: float = Field(default=600, gt=0)

    @property
    def limits(self) -> TaskLimits:
        """The limits in the form that sessions take."""
        return TaskLimits(self.depth, self.at_once, self.within_s)
