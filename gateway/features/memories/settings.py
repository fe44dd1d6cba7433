"""The settings of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from gateway.settings.forms import SettingsSection

if TYPE_CHECKING:
    from runtime.stores.memories import MemoryScope

_DAY_S = 86_400.0


class MemorySettings(SettingsSection):
    """Settings of memory: whether programs that do not say remember people, how much of them, and for how long.

    `told` is how many memories a model sees at once. `keep_days` may be a part of a day.
    `alike` is how near a memory must be to a question that shares no word with it, as the cosine of their vectors by
    `models.embedding`, which has `wait_s` for an answer.
    """

    on: bool = False
    per_person: int = Field(default=200, ge=1, le=10_000)
    per_place: int = Field(default=500, ge=1, le=10_000)
    per_program: int = Field(default=500, ge=1, le=10_000)
    keep_days: float = Field(default=365.0, gt=0, le=36_500)
    told: int = Field(default=8, ge=1, le=50)
    alike: float = Field(default=0.35, ge=0, le=1)
    wait_s: float = Field(default=2.0, gt=0, le=60)

    def bound(self, scope: MemoryScope) -> int:
        return {"person": self.per_person, "place": self.per_place, "program": self.per_program}[scope.kind]

    @property
    def keep_s(self) -> float:
        return self.keep_days * _DAY_S
