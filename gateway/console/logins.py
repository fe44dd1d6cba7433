"""Log-ins to the console, and links that let in an owner once: records that every node reads, so that ending one takes
effect at once."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from adapters.records import ChangedTogether, Records, readable, what_can_be_read
from gateway.settings.connections.console import OWNER
from runtime.core.clock import Clock, aware
from runtime.core.fairness import oldest_of_largest

LOGINS_TABLE = "console:logins"
LINKS_TABLE = "console:links"

LASTS_S = 12 * 3600
"""The time after which a log-in ends by itself."""

LINK_LASTS_S = 3600
"""The time in which a link has to be followed."""

MAX_LOGINS = 200
"""The log-ins that are kept; when there is one more, the one that ends first goes, of the role and name with most."""


@dataclass(frozen=True, slots=True)
class Login:
    """A log-in. `proof` is a digest of the password that it was made with: another password makes it void. `name` is
    what who logged in calls themselves, "" where they gave none."""

    role: str
    proof: str
    until: datetime
    name: str = ""

    def text(self) -> str:
        """As it is kept."""
        data = {"role": self.role, "proof": self.proof, "until": self.until.isoformat(), "name": self.name}
        return json.dumps(data, ensure_ascii=False)


class Logins:
    """Makes, finds and ends log-ins. `passwords` are those of the roles. Raises StorageUnavailable."""

    def __init__(self, passwords: Mapping[str, str], records: Records, clock: Clock) -> None:
        self._proofs = {OWNER: ""} | {role: _digest(password) for role, password in passwords.items()}
        self._records = records
        self._clock = clock

    @property
    def has_passwords(self) -> bool:
        """Whether a role has a password."""
        return any(self._proofs.values())

    def role_of(self, password: str) -> str | None:
        """The role of a password. It is compared with every role's, whether one is found or not."""
        given, found = _digest(password), None
        for role, proof in self._proofs.items():
            if hmac.compare_digest(proof, given):
                found = role
        return found

    async def begin(self, role: str, name: str = "") -> str:
        """A new log-in of a role, by somebody of this name; the secret by which it is found."""
        await self._make_room()
        secret = secrets.token_urlsafe(32)
        login = Login(role, self._proofs[role], self._clock.now() + timedelta(seconds=LASTS_S), name)
        await self._records.put(_digest(secret), login.text())
        return secret

    async def find(self, secret: str | None) -> Login | None:
        """The log-in of this secret; None where there is none, it has ended, or its password is another one now."""
        kept = await self._records.get(_digest(secret)) if secret else None
        login = readable("log-in", kept, _login)
        return login if login is not None and self._holds(login) else None

    async def end(self, secret: str) -> None:
        """End a log-in."""
        await self._records.remove(_digest(secret))

    async def end_all(self, role: str) -> None:
        """End all log-ins of a role."""
        kept = await self._records.all()
        known = what_can_be_read(kept, _login)
        for name in kept:
            if name not in known or known[name].role == role:
                await self._records.remove(name)

    def _holds(self, login: Login) -> bool:
        current = self._proofs.get(login.role)
        return (
            current is not None
            and hmac.compare_digest(current.encode(), login.proof.encode())
            and self._clock.now() < login.until
        )

    async def _make_room(self) -> None:
        kept: list[tuple[datetime, str, str]] = []
        texts = await self._records.all()
        known = what_can_be_read(texts, _login)
        for name in texts:
            login = known.get(name)
            if login is None or not self._holds(login):
                await self._records.remove(name)
            else:
                kept.append((login.until, name, f"{login.role} {login.name}"))
        kept.sort()
        while len(kept) >= MAX_LOGINS:
            _, name, _ = kept.pop(oldest_of_largest([whose for _, _, whose in kept]))
            await self._records.remove(name)


class Links:
    """Links for an owner, each to be followed once. Raises StorageUnavailable."""

    def __init__(self, records: ChangedTogether, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def new(self) -> str:
        """The secret of a new link."""
        for name, kept in (await self._records.all()).items():
            if not self._is_open(kept):
                await self._records.remove(name)
        secret = secrets.token_urlsafe(24)
        await self._records.put(_digest(secret), (self._clock.now() + timedelta(seconds=LINK_LASTS_S)).isoformat())
        return secret

    async def follow(self, secret: str) -> bool:
        """Whether this is the secret of a link that nobody has followed. Nobody can follow it from now on."""
        name, used = _digest(secret), f"{_USED}{secrets.token_urlsafe(8)}"  # of two at once, one finds the other's
        kept = await self._records.get(name)
        return self._is_open(kept) and await self._records.change({name: (kept, used)})

    def _is_open(self, kept: str | None) -> bool:
        until = None if kept is None or kept.startswith(_USED) else readable("link", kept, aware)
        return until is not None and self._clock.now() < until


_USED = "used "


def _login(text: str) -> Login:
    data = json.loads(text)
    return Login(str(data["role"]), str(data["proof"]), aware(data["until"]), str(data.get("name", "")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
