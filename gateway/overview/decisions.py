"""What owners decide: `/bus/v1/people` with roles and limits, `/bus/v1/requests` and `/bus/v1/dead-letters`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.people import AccessRequest, KnownPeople, KnownPerson, Role, role_named
from gateway.clients.requests import BusClient, answer, body_of, limit_of, object_of, page_of
from gateway.clients.views import GatewayView, acts, looks
from gateway.inbound.usage_limits import KINDS, PersonLimits
from gateway.jobs.retention import ErasedData
from runtime.core.errors import ContentLocked, LetterGone, SessionBusy
from runtime.stores.inbox import DeadLetter, DeadLetters

_MAX_AMOUNT = 1e12
"""Less than this is a limit."""


class PeopleRoutes(GatewayView, frozen=True):
    people: KnownPeople
    limits: PersonLimits
    forget_person: Callable[[str], Awaitable[ErasedData]]
    """Deletes all that is stored of a person."""

    @looks("/people")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The people with a role or limits of their own, owners first. Their names need the scope `content`."""
        content = client.scopes.content
        found: list[KnownPerson | str] = [*await self.people.all()]
        limits = await self.limits.all()
        found += sorted(limits.keys() - {person.id for person in found if isinstance(person, KnownPerson)})
        rows, next_ = page_of(request, found, _id_of, lambda person: _person(person, content, limits))
        return answer({"people": rows, "next": next_})

    @acts("/people/{person}/role")
    async def role(self, request: Request, _: BusClient) -> Response:
        """Give a person a role."""
        person, role = _person_in(request), await _role_in(request, None)
        await self.people.set(person, role)
        return answer({"person": person, "role": role.word})

    @acts("/people/{person}/role", "DELETE")
    async def revoke(self, request: Request, _: BusClient) -> Response:
        """Remove a person's role, so that the settings decide again."""
        if not await self.people.forget(_person_in(request)):
            raise HTTPException(404, "This person has no role of their own.")
        return answer({"person": _person_in(request), "role": None})

    @acts("/people/{person}/limit")
    async def limit(self, request: Request, _: BusClient) -> Response:
        """Give a person limits of their own, all of those that the request names; with none the settings decide."""
        person, body = _person_in(request), await body_of(request)
        given = body if isinstance(body, dict) else {"": 0}
        if not all(kind in KINDS and _is_amount(amount) for kind, amount in given.items()):
            raise HTTPException(422, f"Limits are amounts from 0 for {', '.join(KINDS)}; 0 is no limit.")
        await self.limits.set(person, given)
        return answer({"person": person, "limits": given})

    @acts("/people/{person}/forget")
    async def forget(self, request: Request, _: BusClient) -> Response:
        """Delete every session in which a person took part, and all that is stored about them, for good."""
        person = _person_in(request)
        try:
            erased = await self.forget_person(person)
        except SessionBusy as error:
            raise HTTPException(409, f"{error} Stop it first.") from error
        except ContentLocked as error:
            raise HTTPException(409, str(error)) from error
        await self.limits.set(person, {})
        return answer({"person": person, "sessions": len(erased.sessions), "entries": erased.entries})


async def _role_in(request: Request, otherwise: Role | None) -> Role:
    """The role that a request's {"role"} names. Raises HTTPException."""
    word = (await object_of(request)).get("role")
    role = otherwise if word is None else role_named(str(word))
    if role is None:
        raise HTTPException(422, f"role is one of {', '.join(role.word for role in Role)}.")
    return role


def _person_in(request: Request) -> str:
    person = str(request.path_params["person"])
    if not person.partition(":")[2]:
        raise HTTPException(422, "A person is <platform>:<id>.")
    return person


def _id_of(person: KnownPerson | str) -> str:
    return person if isinstance(person, str) else person.id


def _person(person: KnownPerson | str, content: bool, limits: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    own = limits.get(_id_of(person), {})
    if isinstance(person, str):
        return {"person": person, "name": None, "role": None, "limits": own}
    name = person.name if content else None
    return {"person": person.id, "name": name, "role": person.role.word, "limits": own}


def _is_amount(amount: Any) -> bool:
    return type(amount) in (int, float) and 0 <= amount < _MAX_AMOUNT


class DecisionRoutes(GatewayView, frozen=True):
    """The requests about who asks to get in, and about dead letters."""

    people: KnownPeople
    dead_letters: DeadLetters
    tell_approved: Callable[[AccessRequest], Awaitable[None]]
    """Has somebody hear that they were let in."""

    @looks("/requests")
    async def requests(self, request: Request, client: BusClient) -> Response:
        """Who asks to get in. Their codes are for who may let them in."""
        found = await self.people.requests()
        shows_code = client.scopes.gateway_write
        rows, next_ = page_of(request, found, lambda one: one.person_id, lambda one: _request(one, shows_code))
        return answer({"requests": rows, "next": next_})

    @acts("/requests/{code}/approve")
    async def approve(self, request: Request, _: BusClient) -> Response:
        """Let somebody in, who is told."""
        role = await _role_in(request, Role.MEMBER)
        found = await self.people.approve(str(request.path_params["code"]), role)
        if found is None:
            raise HTTPException(404, "Nobody waits with this code.")
        await self.tell_approved(found)
        return answer({"person": found.person_id, "role": role.word})

    @looks("/dead-letters")
    async def letters(self, request: Request, client: BusClient) -> Response:
        """The events that could not be processed. Their words need the scope `content`."""
        limit = limit_of(request)
        found = await self.dead_letters.page(request.query_params.get("after", ""), limit=limit)
        next_ = found[-1].id if len(found) == limit else None
        rows = [_letter(one, await self._words(client, one)) for one in found]
        return answer({"letters": rows, "next": next_})

    @acts("/dead-letters/{letter}/replay")
    async def replay(self, request: Request, _: BusClient) -> Response:
        """Have a dead letter processed again."""
        return await self._settled(request, self.dead_letters.replay)

    @acts("/dead-letters/{letter}", "DELETE")
    async def drop(self, request: Request, _: BusClient) -> Response:
        """Delete a dead letter."""
        return await self._settled(request, self.dead_letters.drop)

    async def _words(self, client: BusClient, letter: DeadLetter) -> bool:
        scopes = client.scopes
        return scopes.content and (scopes.private or not await self.door.rooms.at(letter.event.address))

    async def _settled(self, request: Request, settle: Callable[[str], Awaitable[DeadLetter]]) -> Response:
        try:
            letter = await settle(str(request.path_params["letter"]))
        except LetterGone as error:
            raise HTTPException(404, "There is no such dead letter (any more).") from error
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
