"""Settings of what an operator decides: nodes, what is kept and for how long, encryption, extensions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from gateway.settings.forms import FilePath, Section, Words
from gateway.settings.sources import Layer
from runtime.core.errors import ConfigError
from runtime.sessions.idle import MOST

Sections = Callable[[tuple[str, ...]], Mapping[str, type[Section]]]
"""The sections of the settings that extensions add, by name, for the modules that the settings name."""

_KEY = "extensions.modules"

NodeRole = Literal["all", "front", "agents"]
"""What a process does: a front holds connections of people and programs, an agent node serves conversations."""

NO_ARCHIVE = "none"
KEYS_KEPT_DAYS = 7


class ExtensionSettings(Section):
    """`modules` are Python modules with an `extension` each. Packages with an entry point need no entry here."""

    modules: Words = ()


def added_fields(layers: Sequence[Layer], sections: Sections, own: Collection[str]) -> dict[str, Any]:
    """The fields that extensions add to the settings. Raises ConfigError for one of Parley's `own`."""
    named = next((layer.values[_KEY] for layer in layers if _KEY in layer.values), ())
    added = sections(ExtensionSettings.model_validate({"modules": named}).modules)
    for name in added:
        if name in own:
            raise ConfigError(
                f'an extension adds the section "{name}", which is one of Parley; take the extension out.'
            )
    return {name: (section, section()) for name, section in added.items()}


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


class EncryptionSettings(Section):
    """With which keys content is encrypted where it is stored; without any it is not.

    `keys` are lines as `parley keys new` writes them: the first is used for writing, all for reading. `conversations`
    are patterns of keys of conversations, with `*` for anything; what matches none is written as it is.
    """

    keys: SecretStr | None = None
    keys_file: FilePath | None = None
    conversations: Words = ("*",)

    def key_words(self) -> frozenset[str]:
        """Every secret among the keys."""
        text = "" if self.keys is None else self.keys.get_secret_value()
        words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
        return frozenset(word.partition(":")[2] or word for word in words)


class RetentionSettings(Section):
    """In days since the last thing that happened in a session or a notebook; 0 is never.

    `archive_url` is "sqlite:///<path>", "postgresql://…" or "none". Unset it is a SQLite file in the data directory,
    and with a Redis of your own, which several machines may use, there is none.
    """

    archive_url: str | None = None
    archive_after_days: float = Field(default=30, ge=0)
    delete_after_days: float = Field(default=0, ge=0)
    replaced_days: float = Field(default=14, ge=0)
    tasks_days: float = Field(default=30, ge=0)
    notebooks_days: float = Field(default=0, ge=0)

    @field_validator("notebooks_days")
    @classmethod
    def _outlasts_keys(cls, days: float) -> float:
        if 0 < days < KEYS_KEPT_DAYS:
            raise ValueError(
                f"must be 0 for never, or at least {KEYS_KEPT_DAYS}: Parley knows the keys of writes for that long"
            )
        return days

    @field_validator("archive_url")
    @classmethod
    def _is_archive(cls, url: str | None) -> str | None:
        known = ("sqlite:///", "postgresql://", "postgres://")
        if url is not None and url != NO_ARCHIVE and not url.startswith(known):
            raise ValueError('must be "none", or a URL with sqlite:/// or postgresql://')
        return url
