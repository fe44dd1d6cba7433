"""Conversations that may have open questions: each is noted before its question is on the tape, so none is missed.

The register may have more than there is, after a crash. Who reads it looks at the session, which alone knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from adapters.records import Records, what_can_be_read
from gateway.feature import FeatureGround
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.sessions.features import NodePart
from runtime.storage.redis.records import RedisRecords
from runtime.stores.sessions import Commit
from runtime.tape.facts.calls import QuestionAsked, QuestionAskedAgain, WaitEnded
from runtime.tape.state.frames import CallKey

QUESTIONS_TABLE = "questions:open"

_ASKING = frozenset({QuestionAsked.kind, QuestionAskedAgain.kind})
_ASK = "Ask"


@dataclass(frozen=True, slots=True)
class QuestionPlace:
    """A question of a session, by the call that asks it: when it was noted, and the number that its fact was to get."""

    session: SessionId
    call: CallKey
    noted_at: datetime
    seq: int

    @property
    def name(self) -> str:
        """The name under which it is noted."""
        return _name(self.session, self.call)


class QuestionRegister(NodePart):
    """Notes the questions of sessions in one durable table. Raises StorageUnavailable."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def committing(self, commit: Commit, /) -> None:
        """Note what is asked in a commit that is about to be made."""
        for fact in commit.facts:
            if fact.kind in _ASKING:
                call = CallKey(fact.data["f"], fact.data["pos"])
                await self._records.put(_name(commit.session, call), f"{self._clock.now().timestamp()} {fact.seq}")

    async def committed(self, commit: Commit, /) -> None:
        """Forget what was answered in a commit that was made."""
        for fact in commit.facts:
            if fact.kind == WaitEnded.kind and fact.data.get("name") == _ASK:
                await self._records.remove(_name(commit.session, CallKey(fact.data["f"], fact.data["pos"])))

    async def all(self) -> list[QuestionPlace]:
        """Where questions may be open, the latest first."""
        noted = {name: f"{name} {text}" for name, text in (await self._records.all()).items()}
        places = what_can_be_read(noted, _place).values()
        return sorted(places, key=lambda place: (place.noted_at, place.name), reverse=True)

    async def forget(self, place: QuestionPlace) -> None:
        """Take out what is no longer open."""
        await self._records.remove(place.name)


def _name(session: SessionId, call: CallKey) -> str:
    return f"{session} {call.frame} {call.pos}"


def _place(written: str) -> QuestionPlace:
    """What is noted, behind its name."""
    session, frame, rest = written.split(" ", 2)
    pos, noted, seq = rest.rsplit(" ", 2)
    return QuestionPlace(SessionId(session), CallKey(frame, pos), datetime.fromtimestamp(float(noted), UTC), int(seq))


def register_in(ground: FeatureGround) -> QuestionRegister:
    """The register in the database."""
    return QuestionRegister(RedisRecords(ground.connection, QUESTIONS_TABLE), ground.clock)
