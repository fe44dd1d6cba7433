"""The endpoint for participants in other processes: `/participants/<name>`, with their token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from starlette.responses import PlainTextResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from adapters.capabilities import Budget
from adapters.web.allowance import Allowance
from gateway.participants.visit import Office, Visit
from gateway.socket_link import SocketLink
from gateway.web.guard import PARTICIPANTS

ATTEMPTS = Budget(rate_per_s=0.2, burst=20)
"""The number of refused connections from one address after which all of its connections are refused for a while."""

_NOBODY = "nobody"


class Desk:
    """Admits the participants whose names and tokens are in the settings."""

    def __init__(self, tokens: Mapping[str, str], office: Office) -> None:
        self._digests = {name: _digest(token) for name, token in tokens.items()}
        self._office = office
        self._attempts = Allowance(ATTEMPTS, office.clock)

    @property
    def route(self) -> WebSocketRoute:
        """The route, with the participant's name at its end."""
        return WebSocketRoute(f"{PARTICIPANTS}{{name}}", self.answer)

    async def answer(self, socket: WebSocket) -> None:
        """Admit a participant; 401 for an unknown name or token, 429 for too many of those."""
        name = str(socket.path_params["name"])
        address = socket.client.host if socket.client else ""
        if not self._admits(name, socket.headers.get("authorization", "")):
            tried = self._attempts.take(address)
            text = "This name or token is not known.\n" if tried else "Too many attempts. Wait a minute.\n"
            await socket.send_denial_response(PlainTextResponse(text, status_code=401 if tried else 429))
            return
        await socket.accept()
        await Visit(name, SocketLink(socket), self._office).run()

    def _admits(self, name: str, authorization: str) -> bool:
        """Compare the token, in the same time for an unknown name as for a wrong token."""
        scheme, _, token = authorization.partition(" ")
        known = self._digests.get(name, _digest(_NOBODY))
        right = hmac.compare_digest(known, _digest(token.strip()))
        return right and name in self._digests and scheme.lower() == "bearer"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
