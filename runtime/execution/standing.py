"""The author and the place of the words that a frame works with: only these decide where a memory may be used.

                     ┌ a meeting in a place of its own ──> nowhere
what a frame hears ──┼ a task ───────────────────────────> where its order was given, or less
                     ├ a private chat with one person ───> that person's private chats
                     └ anywhere else ────────────────────> that place
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.ids import PersonId, ScheduleId
from runtime.stores.memories import NOBODY, MemoryScope
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import AgentState, SessionState
from runtime.tape.state.tasks import OrderState


class MemoryStanding(Struct, frozen=True):
    """The scope of what is remembered or recalled now, and whose words are answered; NOBODY where no person's are, or
    several people's at once."""

    scope: MemoryScope
    owner: str


def standing_of(state: SessionState, frame: FrameState, conversation: Address, program: str) -> MemoryStanding | None:
    """Where a frame of a session stands; None where nothing is remembered or recalled."""
    meetings = [state.meetings[one.meeting] for one in state.stack(frame) if one.meeting in state.meetings]
    if any(meeting.place is not None or meeting.left is not None for meeting in meetings):
        return None
    if state.order is not None:
        return _of_task(state, state.order, frame, program)
    alone = _alone_in_private(state)
    if alone is not None:
        return MemoryStanding(MemoryScope("person", program, alone), alone)
    heard = next((agent for agent in _agents(state, frame) if agent.person is not None), None)
    clear = heard is not None and not heard.crowd and not isinstance(heard.person, ScheduleId)
    owner = str(heard.person) if heard is not None and clear else NOBODY
    return MemoryStanding(MemoryScope("place", program, conversation.key), owner)


def _of_task(state: SessionState, order: OrderState, frame: FrameState, program: str) -> MemoryStanding | None:
    """The standing of the frame that gave the order. With words of others it is nobody's, and no longer private."""
    elsewhere = any(meeting.place is not None for meeting in state.meetings.values())
    if not order.scope or elsewhere:
        return None
    scope = MemoryScope.of_key(order.scope)
    others = bool({str(one) for one in _people(state)} - {order.owner})
    mixed = others or any(agent.crowd for agent in _agents(state, frame))
    if scope.program != program or (mixed and scope.kind == "person"):
        return None
    return MemoryStanding(scope, NOBODY if mixed else order.owner)


def handed_on(state: SessionState, frame: FrameState, conversation: Address, program: str) -> tuple[str, str]:
    """The scope, by its key, and the owner of what a task may recall that a frame orders; "" and NOBODY for nothing."""
    stands = standing_of(state, frame, conversation, program)
    return ("", NOBODY) if stands is None else (stands.scope.key, stands.owner)


def may_still_recall(state: SessionState, scope: str) -> bool:
    """Whether a task that could recall what is in a scope, by its key, may do so when it is ordered again."""
    if not scope or MemoryScope.of_key(scope).kind != "person":
        return bool(scope)
    alone = MemoryScope.of_key(scope).whose
    return _alone_in_private(state) == alone if state.order is None else _people(state) <= {PersonId(alone)}


def hears_nobody(state: SessionState) -> bool:
    """Whether no person has taken part, so that no words are anybody's."""
    return not _people(state)


def others_names(state: SessionState, owner: str) -> Iterator[str]:
    for id_, person in state.people.items():
        if str(id_) != owner and not isinstance(id_, ScheduleId):
            yield from {person.name, *([person.declared] if person.declared else [])}


def own_names(state: SessionState, owner: str) -> Iterator[str]:
    person = state.people.get(PersonId(owner))
    if person is not None:
        yield from {person.name, state.called(owner), *([person.declared] if person.declared else [])}


def last_message(state: SessionState, owner: str) -> str | None:
    return next((pid for pid, heard in reversed(state.heard.items()) if str(heard.person) == owner), None)


def _alone_in_private(state: SessionState) -> str | None:
    """The one person who has taken part here, where everything was said in private; None where others have, or could
    read along."""
    people = _people(state)
    private = state.begun_in_private if state.person is None else state.private
    elsewhere = any(meeting.place is not None for meeting in state.meetings.values())
    if not private or elsewhere or len(people) != 1 or (state.person is not None and state.person not in people):
        return None
    return str(next(iter(people)))


def _people(state: SessionState) -> set[PersonId]:
    return {id_ for id_ in state.people if not isinstance(id_, ScheduleId)}


def _agents(state: SessionState, frame: FrameState) -> Iterator[AgentState]:
    for one in state.stack(frame):
        yield state.agents[one.agent]
