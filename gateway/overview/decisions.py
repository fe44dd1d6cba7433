"""Decisions of owners: `/bus/v1/reports`, `/bus/v1/requests` and `/bus/v1/dead-letters`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.people import AccessRequest as AccessRequest
from gateway.access.roles import Role
from gateway.clients.admission import Client
from gateway.clients.pages import limit_of, page_of
from gateway.clients.requests import answer
from gateway.overview.people import role_in
from gateway.overview.sources import Sources
from gateway.reports.again import Outcome
from runtime.core.errors import InboxFull, LetterGone
from runtime.core.plain_text import whole_number
from runtime.stores.operation.dead_letters import DeadLetter
from runtime.stores.operation.reports import Report

_NOT_NOW = "Too much is waiting. Try again."


class DecisionRoutes:
    """The requests about reports, about who asks to get in, and about dead letters."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    async def reports(self, request: Request) -> Response:
        """The reports about failures, the latest first; with `open=1` those that nobody has decided."""
        self._sources.reader(request)
        found = [*await self._sources.reports.all()][::-1]
        if request.query_params.get("open") == "1":
            found = [report for report in found if not report.decided]
        rows, next_ = page_of(request, found, lambda report: str(report.number), _report)
        return answer({"reports": rows, "next": next_})

    async def again(self, request: Request) -> Response:
        """Try again from where what failed began."""
        return await self._decided(request, self._sources.decisions.again)

    async def leave(self, request: Request) -> Response:
        """Leave a failure as it is."""
        return await self._decided(request, self._sources.decisions.leave)

    async def requests(self, request: Request) -> Response:
        """Who asks to get in. Their codes are for who may let them in."""
        client = self._sources.reader(request)
        found = await self._sources.people.requests()
        shows_code = client.scopes.gateway_write
        rows, next_ = page_of(request, found, lambda one: one.person_id, lambda one: _request(one, shows_code))
        return answer({"requests": rows, "next": next_})

    async def approve(self, request: Request) -> Response:
        """Let somebody in, who is told."""
        self._sources.writer(request)
        role = await role_in(request, Role.MEMBER)
        found = await self._sources.people.approve(str(request.path_params["code"]), role)
        if found is None:
            raise HTTPException(404, "Nobody waits with this code.")
        await self._sources.tell_approved(found)
        return answer({"person": found.person_id, "role": role.word})

    async def letters(self, request: Request) -> Response:
        """The events that could not be processed. Their words need the scope `content`."""
        client, limit = self._sources.reader(request), limit_of(request)
        found = await self._sources.letters.page(request.query_params.get("after", ""), limit=limit)
        next_ = found[-1].id if len(found) == limit else None
        rows = [_letter(one, await self._words(client, one)) for one in found]
        return answer({"letters": rows, "next": next_})

    async def replay(self, request: Request) -> Response:
        """Have a dead letter processed again."""
        return await self._settled(request, self._sources.letters.replay)

    async def drop(self, request: Request) -> Response:
        """Delete a dead letter."""
        return await self._settled(request, self._sources.letters.drop)

    async def _words(self, client: Client, letter: DeadLetter) -> bool:
        scopes = client.scopes
        return scopes.content and (scopes.private or not await self._sources.rooms.at(letter.event.address))

    async def _decided(self, request: Request, decide: Callable[[int], Awaitable[Outcome]]) -> Response:
        self._sources.writer(request)
        number = str(request.path_params["report"])
        try:
            outcome = await decide(whole_number(number) or 0)
        except InboxFull as error:
            raise HTTPException(503, _NOT_NOW, {"retry-after": "5"}) from error
        if outcome == "gone":
            raise HTTPException(404, "There is nothing to try again: the report or its conversation is gone.")
        return answer({"report": int(number), "outcome": outcome})

    async def _settled(self, request: Request, settle: Callable[[str], Awaitable[DeadLetter]]) -> Response:
        self._sources.writer(request)
        try:
            letter = await settle(str(request.path_params["letter"]))
        except LetterGone as error:
            raise HTTPException(404, "There is no such dead letter (any more).") from error
        except InboxFull as error:
            raise HTTPException(503, _NOT_NOW, {"retry-after": "5"}) from error
        return answer({"letter": letter.id})


def _report(report: Report) -> dict[str, Any]:
    return {
        "report": report.number,
        "kind": report.kind,
        "session": report.session or None,
        "seq": report.seq,
        "conversation": report.conversation,
        "program": report.program,
        "place": report.place,
        "error_type": report.error_type,
        "instruction": report.instruction,
        "source": report.source,
        "count": report.count,
        "first_at": _time(report.first_s),
        "last_at": _time(report.last_s),
        "decided": report.decided or None,
    }


def _request(request: AccessRequest, shows_code: bool) -> dict[str, Any]:
    return {
        "person": request.person_id,
        "name": request.name,
        "conversation": request.address.key,
        "expires_at": request.expires_at.isoformat(),
        "code": request.code if shows_code else None,
    }


def _letter(letter: DeadLetter, content: bool) -> dict[str, Any]:
    event = letter.event
    return {
        "letter": letter.id,
        "died_at": letter.died_at.isoformat(),
        "conversation": event.address.key,
        "kind": event.kind,
        "person": event.person_id,
        "why": letter.reason if content else None,
        "text": event.text if content else None,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
