"""API calls of the app itself: the address to connect to, and the token of a workspace that installs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from adapters.slack.api.calls import SlackCalls, SlackTransport, told
from runtime.core.errors import AuthFailed


class AppApi:
    """The calls of the app. `app_token` is needed for Socket Mode only."""

    def __init__(self, transport: SlackTransport, app_token: str | None) -> None:
        if app_token is not None and not app_token.startswith("xapp-"):
            raise AuthFailed("The Slack app token does not look like one: it begins with xapp- (Basic Information)")
        self._calls = SlackCalls(transport, None)
        self._app_token = app_token

    async def socket_url(self) -> str:
        """An address for one connection, good for a short while. Raises AuthFailed for a refused token."""
        with self._calls.call("apps.connections.open", at_setup=True):
            answer = await self._calls.client.apps_connections_open(app_token=self._app_token or "")
            return told(answer, "url")

    @property
    def install_url(self) -> str:
        """The address where a person lets the app into a workspace."""
        return urljoin(self._calls.transport.base_url, "/oauth/v2/authorize")

    async def installation(self, client_id: str, client_secret: str, code: str) -> Mapping[str, Any]:
        """Slack's answer to the code of a completed installation."""
        with self._calls.call("oauth.v2.access"):
            # The library's own method for it uses what its HTTP library is about to take away.
            given = {"client_id": client_id, "client_secret": client_secret, "code": code}
            answer = await self._calls.client.api_call("oauth.v2.access", data=given)
            told(answer, "access_token")
            return dict(answer.data) if isinstance(answer.data, dict) else {}
