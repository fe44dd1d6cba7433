"""The settings for the division of work among nodes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.settings.forms import Section
from runtime.core.errors import ConfigError
from runtime.sessions.idle.resting import MOST

NodeRole = Literal["all", "front", "agents"]
"""What a process does: a front holds connections of people and programs, an agent node serves conversations."""


class NodeSettings(Section):
    """The division of work among nodes. Times are in seconds: how long a silent node keeps its shards, how long a stop
    waits for running work, and how long an idle conversation stays in memory, of which there are at most `resting`.
    """

    role: NodeRole = "all"
    lease_s: float = Field(default=3, ge=1, le=300)
    drain_s: float = Field(default=20, ge=0)
    idle_s: float = Field(default=60, gt=0)
    resting: int = Field(default=MOST, ge=1)

    @property
    def people_come(self) -> bool:
        """Whether this process holds connections of people and programs."""
        return self.role != "agents"

    def check_role(self, redis_url: str | None, *, debugs: bool) -> None:
        """Raise ConfigError for a role that cannot be played with this database, or under a debugger."""
        if self.role != "all" and redis_url is None:
            raise ConfigError(
                f"nodes.role is {self.role}, and there is no database that fronts and agent nodes share. Set "
                "PARLEY_REDIS_URL, or start all of them on this machine with `parley run --role standby`."
            )
        if self.role == "front" and debugs:
            raise ConfigError("A front serves no conversation that could be debugged. Give --debug to an agent node.")


class AgentSettings(Section):
    """The agent nodes that `parley run --role standby` starts."""

    processes: int = Field(default=2, ge=1, le=64)
