"""How letters are written down: whole, or with what they say sealed; ids and places stay readable."""

from __future__ import annotations

import json

from runtime.channels.mailbox import Letter, Seat
from runtime.core.address import Address
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.storage.codec import to_json
from runtime.storage.sealing import PLAIN, Binding, Sealing, session_home


def seat_to_json(seat: Seat) -> str:
    return to_json([seat.session, seat.agent, seat.address.platform, seat.address.conversation, seat.address.thread])


def seat_from_json(text: str) -> Seat:
    session, agent, *address = json.loads(text)
    return Seat(SessionId(session), AgentId(agent), Address(*address))


def letter_to_json(letter: Letter, sealing: Sealing = PLAIN) -> str:
    content = sealing.of(letter.seat.address.key).seal(_binding(letter.seat, letter.message), to_json(letter.content))
    return to_json({"seat": seat_to_json(letter.seat), "message": letter.message, "content": content})


def letter_from_json(text: str, sealing: Sealing = PLAIN) -> Letter:
    """Raises ContentLocked for one that is sealed with a key that is not here."""
    data = json.loads(text)
    seat, message = seat_from_json(data["seat"]), MessageId(data["message"])
    return Letter(seat, message, json.loads(sealing.open(_binding(seat, message), data["content"])))


def _binding(seat: Seat, message: MessageId) -> Binding:
    return Binding(session_home(seat.session), ("letter", seat.agent, message))
