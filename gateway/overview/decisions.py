"""Decisions of owners: `/bus/v1/requests` and `/bus/v1/dead-letters`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.access.people import AccessRequest, People, Role
from gateway.clients.admission import Client
from gateway.clients.requests import answer, limit_of, page_of
from gateway.feature import FeatureDoor
from gateway.overview.people import role_in
from runtime.core.errors import InboxFull, LetterGone
from runtime.stores.inbox import DeadLetter, DeadLetters


@dataclass(frozen=True, slots=True)
class DecisionRoutes:
    """The requests about who asks to get in, and about dead letters."""

    door: FeatureDoor
    people: People
    dead_letters: DeadLetters
    tell_approved: Callable[[AccessRequest], Awaitable[None]]
    """Has somebody hear that they were let in."""

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/requests", self.requests, methods=["GET"]),
            Route("/requests/{code}/approve", self.approve, methods=["POST"]),
            Route("/dead-letters", self.letters, methods=["GET"]),
            Route("/dead-letters/{letter}/replay", self.replay, methods=["POST"]),
            Route("/dead-letters/{letter}", self.drop, methods=["DELETE"]),
        ]

    async def requests(self, request: Request) -> Response:
        """Who asks to get in. Their codes are for who may let them in."""
        client = self.door.reader(request)
        found = await self.people.requests()
        shows_code = client.scopes.gateway_write
        rows, next_ = page_of(request, found, lambda one: one.person_id, lambda one: _request(one, shows_code))
        return answer({"requests": rows, "next": next_})

    async def approve(self, request: Request) -> Response:
        """Let somebody in, who is told."""
        self.door.writer(request)
        role = await role_in(request, Role.MEMBER)
        found = await self.people.approve(str(request.path_params["code"]), role)
        if found is None:
            raise HTTPException(404, "Nobody waits with this code.")
        await self.tell_approved(found)
        return answer({"person": found.person_id, "role": role.word})

    async def letters(self, request: Request) -> Response:
        """The events that could not be processed. Their words need the scope `content`."""
        client, limit = self.door.reader(request), limit_of(request)
        found = await self.dead_letters.page(request.query_params.get("after", ""), limit=limit)
        next_ = found[-1].id if len(found) == limit else None
        rows = [_letter(one, await self._words(client, one)) for one in found]
        return answer({"letters": rows, "next": next_})

    async def replay(self, request: Request) -> Response:
        """Have a dead letter processed again."""
        return await self._settled(request, self.dead_letters.replay)

    async def drop(self, request: Request) -> Response:
        """Delete a dead letter."""
        return await self._settled(request, self.dead_letters.drop)

    async def _words(self, client: Client, letter: DeadLetter) -> bool:
        scopes = client.scopes
        return scopes.content and (scopes.private or not await self.door.rooms.at(letter.event.address))

    async def _settled(self, request: Request, settle: Callable[[str], Awaitable[DeadLetter]]) -> Response:
        self.door.writer(request)
        try:
            letter = await settle(str(request.path_params["letter"]))
        except LetterGone as error:
            raise HTTPException(404, "There is no such dead letter (any more).") from error
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return answer({"letter": letter.id})


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
