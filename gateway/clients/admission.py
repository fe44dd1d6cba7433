"""The client behind a request, by the token in its header."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from adapters.capabilities import Budget
from adapters.web.allowance import Allowance
from gateway.clients.scopes import CONSOLE, Scopes
from runtime.core.clock import Clock

ATTEMPTS = Budget(rate_per_s=0.2, burst=20)
"""The number of refused requests from one address after which all of its unknown tokens are refused for a while."""

_READ_ONLY = (
    "You can only look here: owners change something at the console where the settings have console.acts = true."
)

KNOWN = "parley.client"
"""Where a request has the client that was recognised before it came here, by something else than a token."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client that has proved who it is. `shown` is who acts by it, as people are told; "" for the client itself."""

    name: str
    scopes: Scopes
    shown: str = field(default="", kw_only=True)

    @property
    def source(self) -> str:
        """The source of its events."""
        return f"/clients/{self.name}"


class Admission:
    """Knows the clients of the settings by their tokens."""

    def __init__(self, tokens: Mapping[str, str], scopes: Mapping[str, Scopes], clock: Clock) -> None:
        self._known = [(_digest(token), Client(name, scopes[name])) for name, token in tokens.items()]
        self._attempts = Allowance(ATTEMPTS, clock)

    @property
    def clients(self) -> list[Client]:
        """Every client there is."""
        return [client for _, client in self._known]

    def client(self, request: HTTPConnection) -> Client:
        """The client that asks, as it is known already, or by its token. Every token is compared with every client's,
        whether one is found or not.

        Raises HTTPException: 401 for an unknown token, 429 for too many of those from one address.
        """
        known_already = request.scope.get(KNOWN)
        if isinstance(known_already, Client):
            return known_already
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        digest, found = _digest(token.strip()), None
        for known, client in self._known:
            if hmac.compare_digest(known, digest):
                found = client
        if found is not None and scheme.lower() == "bearer":
            return found
        if not self._attempts.take(request.client.host if request.client else ""):
            raise HTTPException(429, "Too many attempts. Wait a minute.")
        text = "A client's token is required, as Authorization: Bearer <token>."
        raise HTTPException(401, text, {"www-authenticate": "Bearer"})

    def gateway_reader(self, request: HTTPConnection) -> Client:
        """The client that asks. Raises HTTPException for one that may not see the gateway."""
        client = self.client(request)
        if not client.scopes.gateway_read:
            raise HTTPException(403, f"{client.name} has no scope gateway:read.")
        return client

    def gateway_writer(self, request: HTTPConnection) -> Client:
        """The client that asks. Raises HTTPException for one that may not run the gateway."""
        client = self.client(request)
        if not client.scopes.gateway_write:
            own = f"{client.name} has no scope gateway:write."
            raise HTTPException(403, _READ_ONLY if client.name.startswith(CONSOLE) else own)
        return client


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
