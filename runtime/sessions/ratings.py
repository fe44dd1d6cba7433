"""Ratings of what agents said: each fact is told to whoever counts them."""

from __future__ import annotations

from runtime.bus import Bus
from runtime.events import talk
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import FeedbackGiven
from runtime.tape.listeners import hears


class Ratings:
    """Those of one session."""

    def __init__(self, record: SessionRecord, bus: Bus) -> None:
        self._where = (record.id, record.address.key, record.program)
        self._bus = bus

    @hears(FeedbackGiven)
    def noted(self, fact: FeedbackGiven) -> None:
        """Tell of a rating."""
        about = (fact.platform_id, fact.person, fact.rating, fact.step, fact.model)
        self._bus.publish(talk.FeedbackGiven(*self._where, *about))
