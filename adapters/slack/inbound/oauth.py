"""How workspaces let the app in, and take it out again: Bolt's flow of OAuth over our table of installations.

docs.slack.dev/authentication/installing-with-oauth.
"""

from __future__ import annotations

import hmac
import html
import secrets
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from adapters.adapter import NOT_UNDERSTOOD, HttpAnswer, HttpRequest
from adapters.slack.api.calls import AppApi
from adapters.slack.api.workspaces import SlackInstallations, SlackWorkspaces
from adapters.slack.inbound.bolt import bolt_request, http_answer
from adapters.slack.manifest import SCOPES
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered

STATE_COOKIE: Final = "parley_slack_state"
STATE_LASTS_S: Final = 600


class AppKeys(Struct, frozen=True):
    """The proof to Slack that the app is ours (Basic Information, App Credentials)."""

    client_id: str
    client_secret: str


class InstallationStore(AsyncInstallationStore):
    """Our table, as Bolt writes to it. Raises RateLimited while it cannot be reached."""

    def __init__(self, installations: SlackInstallations, workspaces: SlackWorkspaces) -> None:
        self._installations = installations
        self._workspaces = workspaces

    async def async_save(self, installation: Installation) -> None:
        team, token = installation.team_id, installation.bot_token
        if team is None or token is None:
            raise NotDelivered("Slack: the app can be installed in workspaces, not in a whole organisation")
        await self._installations.keep(team, installation.team_name or team, token)
        self._workspaces.forget(team)

    async def async_delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        if team_id is not None:
            self._workspaces.forget(team_id)
            await self._installations.remove(team_id)

    async def async_delete_installation(
        self, *, enterprise_id: str | None, team_id: str | None, user_id: str | None = None
    ) -> None:
        """Do nothing: tokens of people are not kept."""


class InstallFlow(AsyncOAuthFlow):
    """Lets workspaces in, by `/install` and `/oauth`. The state that goes along is signed and expires."""

    def __init__(self, app: AppApi, keys: AppKeys, store: InstallationStore, clock: Clock) -> None:
        self._app = app
        pages = AsyncCallbackOptions(success=_installed, failure=_refused)
        settings = AsyncOAuthSettings(
            client_id=keys.client_id,
            client_secret=keys.client_secret,
            install_page_rendering_enabled=False,
            callback_options=pages,
            installation_store=store,
            state_store=_States(keys.client_secret, clock),
            state_cookie_name=STATE_COOKIE,
            state_expiration_seconds=STATE_LASTS_S,
        )
        super().__init__(settings=settings)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        if request.method != "GET":
            return HttpAnswer(405)
        try:
            given = bolt_request(request)
            handle = self.handle_installation if request.path == "/install" else self.handle_callback
            answer = http_answer(await handle(given))
        except AdapterError as error:
            text = f"{error}. Nothing was installed; please start again at /hooks/slack/install."
            answer = http_answer(_page(502, text))
        except NOT_UNDERSTOOD:
            answer = HttpAnswer(400, b"This cannot be read.\n")
        return HttpAnswer(answer.status, answer.body, {**answer.headers, "cache-control": "no-store"})

    async def build_authorize_url(self, state: str, request: AsyncBoltRequest) -> str:
        """Where a person agrees. Bolt's own has parts of the request, as they are, and of the environment."""
        asked = {"client_id": self.settings.client_id, "scope": ",".join(SCOPES), "state": state}
        return f"{self._app.install_url}?{urlencode(asked)}"

    async def run_installation(self, code: str) -> Installation:
        """Slack's answer to the code. Bolt's own call for it sets no time limit, and asks for more than we need."""
        granted = await self._app.installation(self.settings.client_id, self.settings.client_secret, code)
        team = granted.get("team") or {}
        return Installation(
            team_id=team.get("id"), team_name=team.get("name"), bot_token=granted["access_token"], user_id=""
        )


class _States(AsyncOAuthStateStore):
    """States that carry their end and our signature, so any node can check them and none keeps them."""

    def __init__(self, secret: str, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock

    async def async_issue(self, *_args: Any, **_kwargs: Any) -> str:
        unsigned = f"{int(self._clock.now().timestamp()) + STATE_LASTS_S}.{secrets.token_hex(16)}"
        return f"{unsigned}.{self._signature(unsigned)}"

    async def async_consume(self, state: str) -> bool:
        unsigned, _, signature = state.rpartition(".")
        signed = hmac.compare_digest(signature.encode(), self._signature(unsigned).encode())
        return signed and float(unsigned.partition(".")[0]) > self._clock.now().timestamp()

    def _signature(self, text: str) -> str:
        return hmac.new(self._secret.encode(), text.encode(), "sha256").hexdigest()


async def _installed(done: AsyncSuccessArgs) -> BoltResponse:
    team = done.installation.team_name or done.installation.team_id
    return _page(200, f"Installed in {team}. Invite the bot to a channel, or write to it.")


async def _refused(failure: AsyncFailureArgs) -> BoltResponse:
    if failure.reason in ("invalid_browser", "invalid_state"):
        return _page(400, "This took too long, or started elsewhere. Please start again at /hooks/slack/install.")
    return _page(400, f"Slack says: {failure.reason}. Nothing was installed.")


def _page(status: int, text: str) -> BoltResponse:
    body = f"<!doctype html><meta charset=utf-8><title>Slack</title><p>{html.escape(text)}</p>"
    return BoltResponse(status=status, body=body, headers={"content-type": "text/html; charset=utf-8"})
