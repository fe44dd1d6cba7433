"""The newest messages of people, kept because Discord repeats neither their authors nor their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapters.adapter import Inbound
from adapters.recent import Recent
from runtime.core.address import Address

MAX_REMEMBERED: Final = 5000


@dataclass(frozen=True, slots=True)
class Remembered:
    """A message of a person, and where it went."""

    address: Address
    person_id: str
    person_name: str
    addressed: bool
    private: bool
    space: str | None


class RecentMessages:
    """By Discord's ids of messages and of people; the oldest are forgotten, and all when the process ends."""

    def __init__(self) -> None:
        self._messages = Recent[str, Remembered](MAX_REMEMBERED)
        self._names = Recent[str, str](MAX_REMEMBERED)

    def note(self, item: Inbound) -> None:
        """A person said, edited or marked something."""
        self._names.keep(item.person_id, item.person_name)
        if item.act in ("message", "edit") and item.message_id is not None:
            whose = Remembered(item.address, item.person_id, item.person_name, item.addressed, item.private, item.space)
            self._messages.keep(item.message_id, whose)

    def message(self, message_id: str) -> Remembered | None:
        return self._messages.get(message_id)

    def name(self, person_id: str) -> str:
        """The person's last known name; "" if unknown."""
        return self._names.get(person_id) or ""
