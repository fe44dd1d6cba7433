"""The settings of remote agents: their servers, and which of their tools programs may call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from gateway.settings.forms import FilePath, SettingsSection, Words, text_of
from runtime.execution.calls.remote import ToolRules

OURS = "PARLEY_"
"""The prefix of this gateway's own variables, which no server is given."""


class RemoteSettings(SettingsSection):
    """Servers of remote agents. Times are in seconds; `result_chars` bounds what one call gives.

    `commands` are those that programs may start, "*" is any, "python" their own Python files. `secrets` are files by
    the names that programs use.
    """

    connect_s: float = Field(default=15, gt=0)
    call_s: float = Field(default=60, gt=0)
    result_chars: int = Field(default=100_000, ge=100)
    commands: Words = ("*",)
    secrets: dict[str, FilePath] = Field(default_factory=dict)

    def named(self, names: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
        """The values of what programs name: out of its file, else out of `variables`; what is not set is left out.

        Raises ConfigError for a file that cannot be read.
        """
        found = {}
        for name in names:
            if name in self.secrets:
                found[name] = text_of(f"remote.secrets.{name}", self.secrets[name])
            elif variables.get(name) and not name.upper().startswith(OURS):
                found[name] = variables[name]
        return found


class ToolSettings(SettingsSection):
    """The tools of remote agents that programs may call, by patterns such as `Weather.*`. People have `within_s`
    seconds to allow what they are asked for.
    """

    allow: Words = ()
    ask: Words = ()
    deny: Words = ()
    within_s: float = Field(default=600, gt=0)

    @property
    def as_rules(self) -> ToolRules:
        return ToolRules(self.allow, self.ask, self.deny, self.within_s)
