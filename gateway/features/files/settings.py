"""The settings of files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.settings.forms import SettingsSection
from runtime.core.files import FileBounds

_MIB = 1024 * 1024


class FileSettings(SettingsSection):
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
        return FileBounds(self.total_mib * _MIB, self.person_mib * _MIB, self.conversation_mib * _MIB)
