"""The settings of reports."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.settings.forms import SettingsSection


class ReportSettings(SettingsSection):
    """Settings of reports: whether a model is asked about a failure that nobody caught ("auto": the program's own,
    where it has answered the conversation), and what one guess may take.
    """

    ask_model: Literal["auto"] | bool = "auto"
    tokens: int = Field(default=8_000, ge=1_000, le=1_000_000)
    within_s: float = Field(default=60.0, gt=0, le=600)
