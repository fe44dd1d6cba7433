"""The stored form of letters: plain, or with their content sealed; ids and places stay readable."""

from __future__ import annotations

import json

from runtime.channels.mailbox import Letter, Seat
from runtime.core.address import Address
from runtime.core.errors import ContentLocked
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import PLAIN, AssociatedData, Sealing, key_of, session_home


def seat_to_json(seat: Seat) -> str:
    address = [seat.address.platform, seat.address.conversation, seat.address.thread]
    return to_json([seat.session, seat.agent, seat.stops, *address])


def seat_from_json(text: str) -> Seat:
    session, agent, stops, *address = json.loads(text)
    return Seat(SessionId(session), AgentId(agent), Address(*address), stops)


def letter_to_json(letter: Letter, sealing: Sealing = PLAIN) -> str:
    content = sealing.of(letter.seat.address.key).seal(_binding(letter.seat, letter.message), to_json(letter.content))
    return to_json({"seat": seat_to_json(letter.seat), "message": letter.message, "content": content})


def letter_from_json(text: str, sealing: Sealing = PLAIN) -> Letter:
    """The letter in this JSON. Raises ContentLocked if its key is missing."""
    data = json.loads(text)
    seat, message = seat_from_json(data["seat"]), MessageId(data["message"])
    return Letter(seat, message, json.loads(sealing.open(_binding(seat, message), data["content"])))


def letter_key(text: str) -> str:
    """The id of the key of a sealed letter; "" for an unsealed one."""
    return key_of(str(json.loads(text)["content"]))


def letter_anew(text: str, sealing: Sealing) -> str:
    """A letter in its current form; unchanged if it cannot be decrypted."""
    try:
        return letter_to_json(letter_from_json(text, sealing), sealing)
    except ContentLocked:
        return text


def seat_of_letter(text: str) -> Seat:
    """The destination of a letter, even of one that cannot be decrypted."""
    return seat_from_json(json.loads(text)["seat"])


def _binding(seat: Seat, message: MessageId) -> AssociatedData:
    return AssociatedData(session_home(seat.session), ("letter", seat.id, message))
