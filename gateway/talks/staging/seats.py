"""Agents in other processes, whom the talk plays."""

from __future__ import annotations

from collections.abc import Callable

from runtime.channels.mailbox import Letter, NoMailboxes
from runtime.sessions.inbound.participants import Act


class Seats(NoMailboxes):
    """Takes the letters for participants in other processes; `on_letter` hears of each, with the participant's name."""

    def __init__(self, on_letter: Callable[[str, str], None]) -> None:
        self._on_letter = on_letter
        self._letters: dict[str, list[Letter]] = {}

    async def put(self, participant: str, letter: Letter, /) -> bool:
        """See `Mailboxes`."""
        self._letters.setdefault(participant, []).append(letter)
        self._on_letter(participant, str(letter.content.get("text", "")))
        return True

    def answer(self, participant: str, text: str, number: str) -> list[Act]:
        """What a participant does that answers its last letter: it has read all letters, and says the text to who wrote
        it. Nothing before its first letter."""
        letters = self._letters.get(participant, [])
        if not letters:
            return []
        last = letters[-1]
        sender = last.content["from"]
        to = f"person {sender['id']}" if sender["human"] else f"agent {sender['id']}"
        if last.content.get("meeting"):
            to = f"meeting {last.content['meeting']}"
        read = Act(last.seat.id, "fetched", messages=tuple(letter.message for letter in letters))
        return [read, Act(last.seat.id, "say", number, to=to, text=text)]
