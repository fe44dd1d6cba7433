"""The settings of tasks."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from gateway.settings.forms import SettingsSection
from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.stores.orders import TaskLimits
from runtime.tape.state.tasks import CALLER, NOBODY


class TaskSettings(SettingsSection):
    """The limits of tasks: how deep tasks may order tasks, how many tasks of one orderer may run at once, and how many
    seconds each may take unless its order says otherwise. `tokens` and `dollars` are for a task and all the tasks that
    come of it together; 0 is no limit. `places` are conversations that programs may have told what came of a task, by
    name: `<platform>:<id>`, with `#<thread>` where they have one.
    """

    depth: int = Field(default=3, ge=1, le=20)
    at_once: int = Field(default=8, ge=1, le=200)
    within_s: float = Field(default=600, gt=0)
    tokens: int = Field(default=0, ge=0)
    dollars: float = Field(default=0, ge=0)
    places: dict[str, str] = Field(default_factory=dict)

    def addresses(self, platforms: Collection[str]) -> dict[str, Address]:
        """The places by name. Raises ConfigError for one that is none, on one of the `platforms`."""
        found: dict[str, Address] = {}
        for name, place in self.places.items():
            platform, _, rest = place.partition(":")
            conversation, _, thread = rest.partition("#")
            if name in (CALLER, NOBODY):
                raise ConfigError(f'tasks.places: "{name}" has a meaning already; give the place another name.')
            if platform not in platforms or not conversation:
                expected = f"<platform>:<id of the conversation>, with one of {', '.join(platforms)}"
                raise ConfigError(f'tasks.places: "{place}", called {name}, is not a place; expected {expected}.')
            found[name] = Address(platform, conversation, thread or None)
        return found

    @property
    def limits(self) -> TaskLimits:
        return TaskLimits(self.depth, self.at_once, self.within_s, self.tokens, self.dollars)
