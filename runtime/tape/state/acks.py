"""Acknowledgements on the tape: the calls of frames that wait for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.core.ids import ParticipantId, PersonId
from runtime.tape.state.frames import CallKey


@dataclass(slots=True)
class AckState:
    """A frame's call waits until what it said is acknowledged: `awaited` by whom still (ids of agents and people).

    People acknowledge by the page, which was shown to them. `refused` are those who will never have it.
    """

    message: str
    awaited: list[ParticipantId]
    page: str | None = None
    acknowledged: list[ParticipantId] = field(default_factory=list)
    refused: list[ParticipantId] = field(default_factory=list)

    def settle(self, who: ParticipantId, *, has_it: bool) -> None:
        """`who` has the message, or never will."""
        if who in self.awaited:
            self.awaited.remove(who)
            (self.acknowledged if has_it else self.refused).append(who)


def settle_message(acks: Mapping[CallKey, AckState], message: str, who: ParticipantId, *, has_it: bool) -> None:
    """An agent has consumed a message, or it was taken away from the agent unread; an extension has it, or cannot."""
    for ack in acks.values():
        if ack.message == message:
            ack.settle(who, has_it=has_it)


def settle_page(acks: Mapping[CallKey, AckState], page: str, *, has_it: bool) -> None:
    """People see a page, or never will."""
    for ack in acks.values():
        if ack.page == page:
            for who in [who for who in ack.awaited if isinstance(who, PersonId)]:
                ack.settle(who, has_it=has_it)
