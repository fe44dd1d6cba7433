"""Meetings at the console: `GET /bus/v1/meetings`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.requests import BusClient, answer
from gateway.clients.views import GatewayView, looks
from runtime.core.errors import ArchiveUnavailable, ContentLocked, TapeConflict
from runtime.core.ids import ParticipantId, SessionId
from runtime.stores.catalog import KnownSession, SessionCatalog
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState

LOOKED_AT = 40
"""The sessions that one answer looks at."""

_REMEMBERED = 1_000
"""The sessions whose meetings are remembered until something happens in them."""

_OPEN = ("working", "resting")


class MeetingRoutes(GatewayView, frozen=True):
    """The request about meetings. A session is folded once for each time that something has happened in it."""

    catalog: SessionCatalog
    _known: OrderedDict[SessionId, tuple[int, Sequence[dict[str, Any]]]] = field(default_factory=OrderedDict)

    @looks("/meetings")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The meetings of some sessions; those that are over are left out unless `over` is asked for."""
        over = request.query_params.get("over") == "1"
        try:
            page = await self.catalog.page(request.query_params.get("after", ""), limit=LOOKED_AT)
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error
        shown: list[dict[str, Any]] = []
        for known in page.sessions:
            if known.state not in _OPEN:
                continue
            words = await self.door.rooms.words(client.scopes, known.record)
            meetings = [one for one in await self._meetings(known) if over or one["status"] != "ended"]
            shown += meetings if words else [{name: one[name] for name in one if name != "shared"} for one in meetings]
        return answer({"meetings": shown, "next": page.next or None})

    async def _meetings(self, known: KnownSession) -> Sequence[dict[str, Any]]:
        record = known.record
        kept = self._known.get(record.id)
        if kept is None or kept[0] != record.seq:
            try:
                state = (await self.door.moments.at(record.id, record.seq)).state
            except (ArchiveUnavailable, ContentLocked, TapeConflict):
                return []
            kept = record.seq, [_data(known, state, one) for one in state.meetings.values()]
            self._known[record.id] = kept
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(record.id)
        return kept[1]


def _data(known: KnownSession, state: SessionState, meeting: MeetingState) -> dict[str, Any]:
    return {
        "meeting": f"{known.record.id}.{meeting.id}",
        "session": known.record.id,
        "conversation": known.record.address.key,
        "place": None if meeting.place is None else meeting.place.key,
        "topic": meeting.topic,
        "host": _name(state, meeting.host),
        "status": meeting.status,
        "why": meeting.why,
        "since": datetime.fromtimestamp(meeting.since, UTC).isoformat() if meeting.since else None,
        "joined": [_name(state, who) for who in meeting.joined],
        "asked": [_name(state, who) for who in meeting.invited if who not in meeting.joined],
        "shared": {name: one.value for name, one in meeting.shared.items()},
    }


def _name(state: SessionState, who: ParticipantId) -> str:
    """The name of a person, or the class of an agent, with its number where there are several."""
    for agent in state.agents.values():
        if agent.id == who:
            return f"{agent.klass}{state.number_of(agent)}"
    person = next((person for id_, person in state.people.items() if id_ == who), None)
    return str(who) if person is None else person.name
