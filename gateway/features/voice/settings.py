"""The settings of voices."""

from __future__ import annotations

from pydantic import Field

from gateway.settings.forms import SettingsSection


class VoiceSettings(SettingsSection):
    """What is listened to, and how answers are spoken. `seconds` bounds the recordings of one message together,
    `seconds_per_day` those of one conversation in a day (UTC; 0 is no limit). After `wait_s` a service has failed.
    `speaker` is a voice by the name that the provider of `models.speech` has for it; of an answer at most
    `spoken_chars` are spoken.
    """

    seconds: int = Field(default=900, ge=1)
    seconds_per_day: int = Field(default=7_200, ge=0)
    wait_s: float = Field(default=120, gt=0)
    speaker: str = "alloy"
    spoken_chars: int = Field(default=1_500, ge=50, le=4_000)
