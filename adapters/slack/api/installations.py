"""The workspaces that have let the app in: their tokens, durably, and how one more comes in by OAuth.

docs.slack.dev/authentication/installing-with-oauth. The store holds tokens as they are: whoever reads it has them.
"""

from __future__ import annotations

import hmac
import html
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

from adapters.adapter import HttpAnswer, HttpRequest
from adapters.records import Records, what_can_be_read
from adapters.slack.api.app import AppApi
from adapters.slack.manifest import SCOPES
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered, RateLimited, StorageUnavailable

STATE_COOKIE: Final = "parley_slack_state"
STATE_LASTS_S: Final = 600
"""The time that a person has to agree at Slack."""
STORE_PAUSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class AppKeys:
    """The proof to Slack that the app is ours (Basic Information, App Credentials)."""

    client_id: str
    client_secret: str


class Installations:
    """Bot tokens by workspace. Raises RateLimited while the store cannot be asked, and nothing else."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def token_of(self, team: str) -> str | None:
        """The workspace's token; None if the app is not installed there (any more)."""
        try:
            kept = await self._records.get(team)
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error
        return None if kept is None else what_can_be_read({team: kept}, _token).get(team)

    async def keep(self, team: str, name: str, token: str) -> None:
        """The app was installed, perhaps again."""
        try:
            await self._records.put(team, json.dumps({"team": name, "token": token}))
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error

    async def remove(self, team: str) -> None:
        """The app was removed."""
        try:
            await self._records.remove(team)
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error

    async def names(self) -> list[str]:
        """The workspaces' names, in order."""
        return sorted(what_can_be_read(await self._kept(), _team).values())

    async def teams(self) -> list[str]:
        """The workspaces' ids, in order."""
        return sorted(await self._kept())

    async def _kept(self) -> Mapping[str, str]:
        try:
            return await self._records.all()
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error


def _token(kept: str) -> str:
    return str(json.loads(kept)["token"])


def _team(kept: str) -> str:
    return str(json.loads(kept)["team"])


class Door:
    """Lets workspaces in: `/install` sends a browser to Slack, which sends it back to `/oauth` with a code.

    The state that goes with it is signed, expires, and is bound to the browser by a cookie.
    """

    def __init__(self, app: AppApi, keys: AppKeys, installations: Installations, clock: Clock) -> None:
        self._app = app
        self._keys = keys
        self._installations = installations
        self._clock = clock

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to a browser at one of the two addresses."""
        if request.method != "GET":
            return HttpAnswer(405)
        return self._begin() if request.path == "/install" else await self._finish(request)

    def _begin(self) -> HttpAnswer:
        unsigned = f"{int(self._clock.now().timestamp()) + STATE_LASTS_S}.{secrets.token_hex(16)}"
        state = f"{unsigned}.{self._signature(unsigned)}"
        cookie = f"{STATE_COOKIE}={state}; Path=/hooks/slack; Max-Age={STATE_LASTS_S}; HttpOnly; Secure; SameSite=Lax"
        place = self._app.install_url(self._keys.client_id, ",".join(SCOPES), state)
        return HttpAnswer(302, headers={"location": place, "set-cookie": cookie, "cache-control": "no-store"})

    async def _finish(self, request: HttpRequest) -> HttpAnswer:
        if not self._is_ours(request.query.get("state", ""), _cookies(request.headers).get(STATE_COOKIE, "")):
            return _page(400, "This took too long, or started elsewhere. Please start again at /hooks/slack/install.")
        code = request.query.get("code")
        if not code:
            return _page(400, f"Slack says: {request.query.get('error', 'no code')}. Nothing was installed.")
        try:
            team = await self._install(code)
        except AdapterError as error:
            return _page(502, f"{error}. Nothing was installed; please start again at /hooks/slack/install.")
        return _page(200, f"Installed in {team}. Invite the bot to a channel, or write to it.")

    async def _install(self, code: str) -> str:
        granted = await self._app.installation(self._keys.client_id, self._keys.client_secret, code)
        team = granted.get("team") or {}
        if "id" not in team:
            raise NotDelivered("Slack: the app can be installed in workspaces, not in a whole organisation")
        await self._installations.keep(team["id"], str(team.get("name") or team["id"]), granted["access_token"])
        return str(team.get("name") or team["id"])

    def _is_ours(self, state: str, cookie: str) -> bool:
        unsigned, _, signature = state.rpartition(".")
        expiry = unsigned.partition(".")[0]
        signed = hmac.compare_digest(signature.encode(), self._signature(unsigned).encode())
        same = hmac.compare_digest(state.encode(), cookie.encode())
        return signed and same and float(expiry) > self._clock.now().timestamp()

    def _signature(self, text: str) -> str:
        return hmac.new(self._keys.client_secret.encode(), text.encode(), "sha256").hexdigest()


def _cookies(headers: Mapping[str, str]) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _page(status: int, text: str) -> HttpAnswer:
    body = f"<!doctype html><meta charset=utf-8><title>Slack</title><p>{html.escape(text)}</p>"
    return HttpAnswer(status, body.encode(), {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"})
