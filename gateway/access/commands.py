"""`/access`: an owner's commands about who may talk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gateway.access.people import AccessRequest, People
from gateway.access.roles import Role, role_named
from runtime.core.texts import Texts

GIVEN_ROLES = (Role.GUEST, Role.MEMBER, Role.OWNER)
"""The roles that an owner can give; blocking has its own command."""

Answer = tuple[str, AccessRequest | None]
"""The answer, and the request that was approved."""


class AccessCommands:
    """Interprets the argument of `/access`."""

    def __init__(self, people: People, texts: Texts) -> None:
        self._people = people
        self._texts = texts
        self._known: dict[str, Callable[[list[str]], Awaitable[Answer | None]]] = {
            "list": self._list,
            "approve": self._approve,
            "role": self._role,
            "block": self._block,
            "revoke": self._revoke,
        }

    async def run(self, argument: str) -> Answer:
        """Carry out the command and report the result, or explain the command."""
        word, *rest = argument.split() or ["list"]
        ask = self._known.get(word.lower())
        answer = None if ask is None else await ask(rest)
        return answer or (self._texts("access.usage"), None)

    async def _list(self, _: list[str]) -> Answer:
        lines = [f"- {person.role.word}: {person.shown}" for person in await self._people.all()]
        for request in await self._people.requests():
            until = f"{request.expires_at:%H:%M} UTC"
            name, person = request.name, request.person_id
            lines.append(self._texts("access.waiting", name=name, person=person, code=request.code, until=until))
        return "\n".join(lines) or self._texts("access.nobody"), None

    async def _approve(self, words: list[str]) -> Answer | None:
        role = _given_role(words[1]) if len(words) == 2 else Role.MEMBER
        if not 1 <= len(words) <= 2 or role is None:
            return None
        request = await self._people.approve(words[0], role)
        if request is None:
            return self._texts("access.no_such_code", code=words[0]), None
        return self._texts("access.done", person=f"{request.name} ({request.person_id})", role=role.word), request

    async def _role(self, words: list[str]) -> Answer | None:
        role = _given_role(words[1]) if len(words) == 2 else None
        return None if role is None else await self._set(words[0], role)

    async def _block(self, words: list[str]) -> Answer | None:
        return await self._set(words[0], Role.BLOCKED) if len(words) == 1 else None

    async def _set(self, person: str, role: Role) -> Answer | None:
        if not person.partition(":")[2]:
            return None
        await self._people.set(person, role)
        return self._texts("access.done", person=person, role=role.word), None

    async def _revoke(self, words: list[str]) -> Answer | None:
        if len(words) != 1:
            return None
        known = await self._people.forget(words[0])
        return self._texts("access.revoked" if known else "access.unknown_person", person=words[0]), None


def _given_role(word: str) -> Role | None:
    role = role_named(word)
    return role if role in GIVEN_ROLES else None
