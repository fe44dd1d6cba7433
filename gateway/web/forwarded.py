"""A bound for each address behind a trusted proxy, which itself may open any number of connections."""

from __future__ import annotations

from collections import Counter

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.web.logins.proxied import FROM_PROXY, Proxies

_LATER = 1013
"""The code with which a WebSocket is closed that may be opened later."""


class BoundForwarded:
    """ASGI middleware: of the requests and WebSockets that a proxy forwards for one address, so many are open at once.

    Where a proxy does not say for whom it asks, nobody is bound.
    """

    def __init__(self, app: ASGIApp, proxies: Proxies, bound: int) -> None:
        self._app = app
        self._proxies = proxies
        self._bound = bound
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if not scope.get(FROM_PROXY) or client is None or client[0] in self._proxies:
            await self._app(scope, receive, send)
            return
        address: str = client[0]
        if self._open[address] >= self._bound:
            await _refuse(scope, receive, send)
            return
        self._open[address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _LATER, "reason": "too many connections"})
        return
    text = "Too many requests of your address are open. Try again."
    await JSONResponse({"error": text}, 503, {"retry-after": "5"})(scope, receive, send)
