"""The settings for access, for limits on every kind of use, for files, and for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from gateway.settings.forms import Section, Words
from runtime.core.errors import ConfigError
from runtime.core.files import FileBounds
from runtime.core.near_names import name_advice

_MIB = 1024 * 1024


class AccessSettings(Section):
    """Access on all platforms. `groups` are lists of people by name, each entry `<platform>:<id>`."""

    groups: dict[str, Words] = Field(default_factory=dict)
    pairing_minutes: float = Field(default=60, gt=0)
    open_requests: int = Field(default=20, ge=0)

    def check(self, used: Mapping[str, Iterable[str]]) -> None:
        """Raise ConfigError for an entry that can be no person, and for a group in `used`, by key, that is unknown."""
        for name, people in self.groups.items():
            for person in people:
                if not person.partition(":")[2]:
                    raise ConfigError(f'access.groups.{name}: "{person}" is not a person; write <platform>:<id>.')
        for key, names in used.items():
            for name in names:
                if name not in self.groups:
                    advice = name_advice(name, self.groups, "write it under [access.groups].")
                    raise ConfigError(f'{key}: there is no group "{name}"; {advice}')


class LimitSettings(Section):
    """The limits on amounts. Texts are counted in characters, times in seconds, spending in US dollars and in tokens.

    What a person or a conversation may use in a minute or a day (UTC) has no limit while it is 0.
    """

    message_chars: int = Field(default=32_000, ge=1)
    transcript_chars: int = Field(default=100_000, ge=1_000)
    model_first_text_s: float = Field(default=90, gt=0)
    model_answer_s: float = Field(default=600, gt=0)
    person_messages_per_minute: int = Field(default=0, ge=0)
    person_messages_per_day: int = Field(default=0, ge=0)
    person_usd_per_day: float = Field(default=0, ge=0)
    person_tokens_per_day: int = Field(default=0, ge=0)
    conversation_messages_per_minute: int = Field(default=0, ge=0)
    conversation_messages_per_day: int = Field(default=0, ge=0)
    conversation_usd_per_day: float = Field(default=0, ge=0)
    conversation_tokens_per_day: int = Field(default=0, ge=0)


class ContextSettings(Section):
    """What a program is told of what was said in a place before it was first spoken to there: the number of messages,
    0 for none, their characters, their age, and how many of their files are read. How many hours what a bot hears in
    groups is kept where the platform cannot be asked for it; 0 keeps nothing."""

    messages: int = Field(default=50, ge=0, le=200)
    chars: int = Field(default=20_000, ge=0)
    hours: float = Field(default=168, gt=0)
    files: int = Field(default=5, ge=0)
    keep_hours: float = Field(default=0, ge=0, le=168)


class FileSettings(Section):
    """The space for files of people and agents, in MiB: in total, for one person's uploads without a message, and for
    one conversation. How many files are read of one message, and in a day (UTC) of a conversation or of a person; 0
    is no limit of the day. How many characters of a document are read, and whether the model is given pictures.
    """

    total_mib: int = Field(default=256, ge=1)
    person_mib: int = Field(default=64, ge=1)
    conversation_mib: int = Field(default=128, ge=1)
    per_message: int = Field(default=10, ge=1)
    per_day: int = Field(default=200, ge=0)
    person_per_day: int = Field(default=0, ge=0)
    document_chars: int = Field(default=50_000, ge=1_000)
    pictures: Literal["auto", "yes", "no"] = "auto"

    @property
    def sees(self) -> bool | None:
        """Whether the model takes pictures; None for what its provider's data say."""
        return None if self.pictures == "auto" else self.pictures == "yes"

    @property
    def bounds(self) -> FileBounds:
        """The limits in bytes."""
        return FileBounds(self.total_mib * _MIB, self.person_mib * _MIB, self.conversation_mib * _MIB)
