"""Ratings in a process that serves conversations: each fact goes to the counters."""

from __future__ import annotations

from gateway.feature import FeatureGround, ServingGround
from gateway.features.feedback.ledger import feedback_in
from runtime.bus import Bus
from runtime.events.talk import AnswerRated
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.tape.facts.people import FeedbackGiven
from runtime.tape.listeners import hears


class SessionRatings(SessionPart):
    """Those of one session."""

    def __init__(self, parts: SessionParts, bus: Bus) -> None:
        self._where = (parts.record.id, parts.record.address.key, parts.record.program)
        self._bus = bus
        self.listeners = (self.noted,)

    @hears(FeedbackGiven)
    def noted(self, fact: FeedbackGiven) -> None:
        """Tell of a rating."""
        about = (fact.platform_id, fact.person, fact.rating, fact.step, fact.model)
        self._bus.publish(AnswerRated(*self._where, *about))


class NodeRatings(NodePart):
    """Those of all sessions here."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def session(self, parts: SessionParts, /) -> SessionRatings:
        return SessionRatings(parts, self._bus)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeRatings:
    """The ratings of this node's conversations, kept in the node's tasks."""
    serving.tasks.start_soon(feedback_in(ground.connection, ground.clock).follow, ground.bus)
    return NodeRatings(ground.bus)
