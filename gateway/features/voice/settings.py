"""The settings of voices."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from gateway.settings.forms import SettingsSection


@dataclass(frozen=True, slots=True)
class VoiceLimits:
    """Limits in seconds on listening, of one message and of one conversation in a day; 0 is no limit of the day."""

    seconds: int = 900
    seconds_per_day: int = 7_200


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

    @property
    def limits(self) -> VoiceLimits:
        return VoiceLimits(self.seconds, self.seconds_per_day)
