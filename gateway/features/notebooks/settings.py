"""The settings of notebooks."""

from __future__ import annotations

from pydantic import Field

from gateway.settings.forms import SettingsSection


class TapeSettings(SettingsSection):
    """The bounds of notebooks, which are clients' own tapes: how many there may be, and how many entries each may
    have, with those behind rollbacks."""

    notebooks: int = Field(default=10_000, ge=1)
    entries: int = Field(default=1_000_000, ge=1)
