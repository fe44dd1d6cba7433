"""Who may talk with the agents: closed by default."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, Protocol

from adapters.adapter import Inbound
from runtime.core.clock import Clock

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
MAX_ATTEMPTS = 5
ATTEMPT_WINDOW_S = 3600.0
"""A stranger may try a pairing code this often in this time."""

POLITE_EVERY_S = 3600.0
"""A stranger is told at most this often that the bot is private."""

MAX_STRANGERS = 10_000
"""Strangers that are remembered, for counting their attempts; the oldest are forgotten first."""


class Verdict(Enum):
    """What becomes of something a person did."""

    ADMIT = auto()
    PAIRED = auto()
    """The code was right: the person may talk from now on, and is told so."""
    REFUSE = auto()
    """A stranger, who is told so politely."""
    IGNORE = auto()


class PeopleStore(Protocol):
    """The people who were paired, durably, by platform."""

    async def people(self, platform: str, /) -> Collection[str]: ...

    async def add(self, platform: str, person: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Who may talk on one platform. People and chats are the platform's ids, without its name."""

    mode: Literal["pairing", "allowlist", "open"]
    people: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Stranger:
    attempts: list[float] = field(default_factory=list)
    told_at: float | None = None


class Access:
    """Decides for one platform. `code` pairs the first owner; None when there is one, or pairing is off."""

    def __init__(self, platform: str, rules: AccessRules, store: PeopleStore, clock: Clock) -> None:
        self._platform = platform
        self._rules = rules
        self._store = store
        self._clock = clock
        self._paired: set[str] = set()
        self._strangers: dict[str, _Stranger] = {}
        self.code: str | None = None

    async def open(self) -> None:
        """Read who was paired, and make a code when nobody was."""
        self._paired = set(await self._store.people(self._platform))
        if self._rules.mode == "pairing" and not self._paired and not self._rules.people:
            self.code = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))

    async def judge(self, event: Inbound) -> Verdict:
        """What becomes of `event`. Durable before it answers PAIRED."""
        if not event.addressed:
            return Verdict.IGNORE
        if self._known(event):
            return Verdict.ADMIT
        if event.private and await self._pairs(event):
            return Verdict.PAIRED
        return self._refuse(event)

    def _known(self, event: Inbound) -> bool:
        if self._rules.mode == "open":
            return True
        person = event.person_id.partition(":")[2]
        chat = event.address.conversation
        return event.person_id in self._paired or person in self._rules.people or chat in self._rules.chats

    async def _pairs(self, event: Inbound) -> bool:
        if self.code is None or not event.text.strip():
            return False
        stranger = self._stranger(event.person_id)
        now = self._clock.monotonic()
        stranger.attempts = [at for at in stranger.attempts if now - at < ATTEMPT_WINDOW_S]
        if len(stranger.attempts) >= MAX_ATTEMPTS:
            return False
        stranger.attempts.append(now)
        if not hmac.compare_digest(event.text.strip().upper().encode(), self.code.encode()):
            return False
        await self._store.add(self._platform, event.person_id)
        self._paired.add(event.person_id)
        self.code = None
        return True

    def _refuse(self, event: Inbound) -> Verdict:
        if not event.private:
            return Verdict.IGNORE
        stranger = self._stranger(event.person_id)
        now = self._clock.monotonic()
        if stranger.told_at is not None and now - stranger.told_at < POLITE_EVERY_S:
            return Verdict.IGNORE
        stranger.told_at = now
        return Verdict.REFUSE

    def _stranger(self, person: str) -> _Stranger:
        if person not in self._strangers and len(self._strangers) >= MAX_STRANGERS:
            del self._strangers[next(iter(self._strangers))]
        return self._strangers.setdefault(person, _Stranger())
