"""The access check: who may talk with the agents, closed by default. And `/access`, an owner's commands about it."""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Literal

import anyio
from msgspec import Struct

from adapters.adapter import Inbound
from gateway.access.people import AccessRequest, KnownPeople, KnownPerson, Role, is_code, new_code, role_named
from runtime.core.clock import Clock
from runtime.core.markup import as_written
from runtime.core.texts import Texts

MAX_ATTEMPTS = 5
ATTEMPT_WINDOW_S = 3600.0
"""A stranger may try the start-up code this often in this time."""

POLITE_EVERY_S = 3600.0
"""The shortest time between two polite refusals to a stranger or a blocked person."""

ADVISED_FOR_S = 90 * 86_400.0
"""The shortest time between two hints to a stranger in a group about whom to ask."""

MAX_TOLD = 20
TOLD_WINDOW_S = 60.0
"""At most this many people without access are told so in this time: texts to them take turns with answers to others."""

_MAX_STRANGERS = 10_000
"""The number of strangers whose attempts are counted; the oldest are forgotten first."""

_GIVEN_ROLES = (Role.GUEST, Role.MEMBER, Role.OWNER)
"""The roles that an owner can give; blocking has its own command."""

Answer = tuple[str, AccessRequest | None]
"""The answer, and the request that was approved."""


class AccessVerdict(Enum):
    ADMIT = auto()
    PAIRED = auto()
    """The start-up code was right: the person is now an owner and is told so."""
    REQUESTED = auto()
    """A stranger: told the code that an owner has to approve."""
    REFUSE = auto()
    """A stranger: told politely that the bot is private."""
    STRANGER = auto()
    """A stranger in a group: told once, in private, whom to ask."""
    BLOCKED = auto()
    """A blocked person: told so politely."""
    IGNORE = auto()


class AccessJudgement(Struct, frozen=True):
    """The verdict, the role of an admitted person, and the request if one was made, with its lifetime in minutes."""

    verdict: AccessVerdict
    role: Role = Role.BLOCKED
    request: AccessRequest | None = None
    minutes: float = 0


class AccessRules(Struct, frozen=True):
    """The rules of access to one platform. People, chats and spaces are the platform's ids, without its name;
    `friends`, who may be on other platforms, with it.

    On an `enclosed` platform whoever gets in was asked before, for a password or a link: its conversations count as
    private. Where it is open too, the start-up code makes an owner of somebody who may talk already. `visitors` is what
    those are whom only the chat or the space lets in. A stranger's code holds `pairing_minutes`, and `open_requests`
    strangers of one space may wait for approval at once.
    """

    mode: Literal["pairing", "allowlist", "open"]
    owners: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    friends: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()
    spaces: frozenset[str] = frozenset()
    visitors: Role = Role.GUEST
    pairing_minutes: float = 60
    open_requests: int = 20
    enclosed: bool = False


class PlatformAccess:
    """Decides for one platform. `code` makes the first owner; it is None when there is an owner or pairing is off."""

    def __init__(self, platform: str, rules: AccessRules, people: KnownPeople, clock: Clock) -> None:
        self._platform = platform
        self._rules = rules
        self.people = people
        self._clock = clock
        self._attempts: dict[str, list[float]] = {}
        """When strangers have tried the start-up code lately."""
        self._asking = anyio.Lock()
        self._told_at_s = deque[float](maxlen=MAX_TOLD)
        self.code: str | None = None

    def take(self, rules: AccessRules) -> None:
        self._rules = rules
        if rules.owners:
            self.code = None

    @property
    def open_to(self) -> str:
        rules = self._rules
        if rules.mode == "open":
            return "everybody"
        whom = "whom an owner lets in" if rules.mode == "pairing" else "those in the settings"
        places = len(rules.chats) + len(rules.spaces)
        return f"{whom}, and to everybody in {places} chats or spaces" if places else whom

    async def open(self) -> None:
        """Make a code if there is no owner yet."""
        rules = self._rules
        pairing = (rules.enclosed and rules.mode == "open") or (rules.mode == "pairing" and not rules.people)
        if pairing and not rules.owners and not await self.people.has_owner(self._platform):
            self.code = new_code()

    async def judge(self, event: Inbound) -> AccessJudgement:
        """Decide about `event`. PAIRED, REQUESTED and every verdict that sends a text are stored before this returns.

        Only messages get an answer: edits, deletions, reactions and presses of strangers are ignored.
        """
        if not event.addressed:
            return AccessJudgement(AccessVerdict.IGNORE)
        role = await self.role(event)
        if role is not None and role > Role.BLOCKED:
            claims = self._rules.enclosed and role < Role.OWNER and event.act == "message"
            if claims and await self._pairs(event):
                return AccessJudgement(AccessVerdict.PAIRED, Role.OWNER)
            return AccessJudgement(AccessVerdict.ADMIT, role)
        if event.act != "message":
            return AccessJudgement(AccessVerdict.IGNORE)
        if role is Role.BLOCKED:
            return await self._once(event, AccessVerdict.BLOCKED)
        if not event.private:
            return await self._once(event, AccessVerdict.STRANGER, for_s=ADVISED_FOR_S)
        if await self._pairs(event):
            return AccessJudgement(AccessVerdict.PAIRED, Role.OWNER)
        return await self._requested(event)

    def advice(self) -> str:
        """The key of the text that tells a stranger in a group what to do."""
        if self.code is not None:
            return "access.unowned"
        return "access.ask_with_code" if self._rules.mode == "pairing" else "access.ask"

    def is_private(self, event: Inbound) -> bool:
        """Whether only people who may know about access read an answer in this conversation."""
        return event.private or self._rules.enclosed

    async def role(self, event: Inbound) -> Role | None:
        """The role of the event's author in its conversation; None for a stranger."""
        rules, person = self._rules, event.person_id.partition(":")[2]
        if person in rules.owners:
            return Role.OWNER
        by_space = event.space in rules.spaces and not event.outsider
        open_here = by_space or event.address.conversation in rules.chats
        known = await self.people.find(event.person_id)
        if known is not None and known.role is Role.GUEST:
            return Role.GUEST if open_here or rules.enclosed or rules.mode == "open" else None
        if known is not None:
            return known.role
        if person in rules.people or event.person_id in rules.friends or rules.mode == "open":
            return Role.MEMBER
        return rules.visitors if open_here else None

    async def is_member(self, person_id: str, conversation: str) -> bool:
        """Whether somebody who was a member in a conversation is one still, by what is known without their message.

        Whom only a space of the settings lets in counts as a member for as long as that makes members.
        """
        rules, person = self._rules, person_id.partition(":")[2]
        known = await self.people.find(person_id)
        if person in rules.owners or known is not None:
            return person in rules.owners or (known is not None and known.role >= Role.MEMBER)
        if person in rules.people or person_id in rules.friends or rules.mode == "open":
            return True
        open_here = conversation in rules.chats or bool(rules.spaces)
        return open_here and rules.visitors >= Role.MEMBER

    async def _pairs(self, event: Inbound) -> bool:
        tried = event.text.strip().upper()
        if self.code is None or not is_code(tried):
            return False
        now, attempts = self._clock.monotonic(), self._attempts
        lately = [at for at in attempts.get(event.person_id, ()) if now - at < ATTEMPT_WINDOW_S]
        if len(lately) >= MAX_ATTEMPTS:
            return False
        if event.person_id not in attempts and len(attempts) >= _MAX_STRANGERS:
            del attempts[next(iter(attempts))]
        attempts[event.person_id] = [*lately, now]
        if not hmac.compare_digest(tried.encode(), self.code.encode()):
            return False
        self.code = None
        if await self.people.has_owner(self._platform):  # made meanwhile, by another process
            return False
        await self.people.set(event.person_id, Role.OWNER, event.person_name)
        return True

    async def _requested(self, event: Inbound) -> AccessJudgement:
        rules = self._rules
        if rules.mode != "pairing":
            return await self._once(event, AccessVerdict.REFUSE)
        asking = KnownPerson(event.person_id, event.person_name, Role.BLOCKED)
        async with self._asking:  # several may arrive together, and requests are counted
            if self._crowded or await self.people.waits(event.person_id):
                return AccessJudgement(AccessVerdict.IGNORE)
            request = await self.people.ask(
                asking, event.address, event.space, minutes=rules.pairing_minutes, at_most=rules.open_requests
            )
        if request is None:
            return await self._once(event, AccessVerdict.REFUSE)
        self._told_at_s.append(self._clock.monotonic())
        return AccessJudgement(AccessVerdict.REQUESTED, request=request, minutes=rules.pairing_minutes)

    async def _once(self, event: Inbound, verdict: AccessVerdict, *, for_s: float = POLITE_EVERY_S) -> AccessJudgement:
        """The verdict, unless the person was told recently, by this process or an earlier one. In a crowd the person is
        told when writing again later.
        """
        if self._crowded or not await self.people.is_news(event.person_id, verdict.name.lower(), for_s=for_s):
            return AccessJudgement(AccessVerdict.IGNORE)
        self._told_at_s.append(self._clock.monotonic())
        return AccessJudgement(verdict)

    @property
    def _crowded(self) -> bool:
        return len(self._told_at_s) == MAX_TOLD and self._clock.monotonic() - self._told_at_s[0] < TOLD_WINDOW_S


class PlatformOwners:
    """Owners on all platforms: those of the settings, and people with that role."""

    def __init__(self, people: KnownPeople, rules: Mapping[str, AccessRules]) -> None:
        self.people = people
        self._rules = dict(rules)

    def take(self, platform: str, rules: AccessRules) -> None:
        self._rules[platform] = rules

    async def has(self, person_id: str) -> bool:
        platform, _, person = person_id.partition(":")
        if platform in self._rules and person in self._rules[platform].owners:
            return True
        known = await self.people.find(person_id)
        return known is not None and known.role is Role.OWNER


class AccessCommands:
    """Interprets the argument of `/access`."""

    def __init__(self, people: KnownPeople, texts: Texts) -> None:
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
        lines = [f"- {person.role.word}: {as_written(person.shown)}" for person in await self._people.all()]
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
    return role if role in _GIVEN_ROLES else None
