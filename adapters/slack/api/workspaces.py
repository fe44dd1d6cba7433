"""The bot's identity and token in each workspace, and the table of those that have let the app in.

It holds tokens as they are: who reads it has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from weakref import WeakValueDictionary

import anyio

from adapters.recent import RecentValues
from adapters.records import Records, readable, store_awaited, what_can_be_read
from adapters.slack.api.calls import MOST_WORKSPACES, SlackCalls, SlackTransport
from adapters.slack.api.streams import StreamApi
from adapters.slack.api.web import FileApi, WebApi
from adapters.slack.codec.addresses import SlackBot
from adapters.slack.manifest import AGENT, OWN_NAMES
from runtime.core.errors import AuthFailed, NotDelivered

TRIED_AGAIN_S: Final = 600.0
"""The time after which what a workspace refused is tried again: one message was to blame, or somebody allowed it."""
Feature = Literal["names", "sessions", "streams", "thumbs", "tasks", "plans", "tables"]
_SCOPE_OF: Final[dict[Feature, str]] = {"names": OWN_NAMES, "sessions": AGENT}


class SlackInstallations:
    """Bot tokens by workspace. Raises RateLimited while the store cannot be asked, and nothing else."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def token_of(self, team: str) -> str | None:
        """The workspace's token; None if the app is not installed there (any more)."""
        with store_awaited("Slack"):
            kept = await self._records.get(team)
        return readable(team, kept, lambda kept: str(json.loads(kept)["token"]))

    async def keep(self, team: str, name: str, token: str) -> None:
        with store_awaited("Slack"):
            await self._records.put(team, json.dumps({"team": name, "token": token}))

    async def remove(self, team: str) -> None:
        with store_awaited("Slack"):
            await self._records.remove(team)

    async def names(self) -> list[str]:
        return sorted(what_can_be_read(await self._kept(), lambda kept: str(json.loads(kept)["team"])).values())

    async def teams(self) -> list[str]:
        return sorted(await self._kept())

    async def _kept(self) -> Mapping[str, str]:
        with store_awaited("Slack"):
            return await self._records.all()


@dataclass(slots=True, eq=False)
class SlackWorkspace:
    bot: SlackBot
    token: str = field(repr=False)
    transport: SlackTransport = field(repr=False)
    api: WebApi
    streams: StreamApi
    files: FileApi
    _refused: dict[Feature, float] = field(default_factory=dict)

    @property
    def scopes(self) -> frozenset[str]:
        """What the app may do here, which changes when it is installed again; empty where Slack does not say."""
        return self.transport.scopes(self.token)

    def takes(self, feature: Feature) -> bool:
        """Whether to try it: the app may, as far as is known, and it was not refused lately."""
        refused_s, scopes = self._refused.get(feature), self.scopes
        lately = refused_s is not None and self.transport.clock.monotonic() - refused_s < TRIED_AGAIN_S
        return not lately and (not scopes or _SCOPE_OF.get(feature, "") in {"", *scopes})

    def refuses(self, feature: Feature) -> None:
        self._refused[feature] = self.transport.clock.monotonic()


class SlackWorkspaces:
    """One workspace with a given token, or all that installed the app."""

    def __init__(
        self, transport: SlackTransport, bot_token: str | None, installations: SlackInstallations | None
    ) -> None:
        if bot_token is not None and not bot_token.startswith("xoxb-"):
            raise AuthFailed("The Slack bot token does not look like one: it begins with xoxb- (OAuth & Permissions)")
        self._transport = transport
        self._bot_token = bot_token
        self._installations = installations
        self._only: SlackWorkspace | None = None
        self._known = RecentValues[str, SlackWorkspace](MOST_WORKSPACES)
        self._refused = RecentValues[str, bool](MOST_WORKSPACES)
        self._turns = WeakValueDictionary[str, anyio.Lock]()

    async def of(self, team: str | None) -> SlackWorkspace:
        """The workspace with this id, for those who ask in their order. Raises NotDelivered if the app is not there."""
        if self._bot_token is not None:
            return await self.only(self._bot_token)
        if team is None:
            raise NotDelivered("Slack does not say which workspace this concerns")
        async with self._turn(team):
            known = self._known.get(team)
            if known is None:
                known = await self._installed(team)
                self._known.keep(team, known)
            return known

    async def only(self, token: str) -> SlackWorkspace:
        """The only workspace. Raises AuthFailed if its token is refused."""
        async with self._turn(""):
            if self._only is None:
                self._only = await self._opened(token)
            return self._only

    async def ask_again(self) -> SlackWorkspace | None:
        """The only workspace, asked for again; None if there are several."""
        self._only = None
        return None if self._bot_token is None else await self.only(self._bot_token)

    async def teams(self) -> list[str]:
        if self._bot_token is not None:
            return [(await self.only(self._bot_token)).bot.team_id]
        return [] if self._installations is None else await self._installations.teams()

    def forget(self, team: str) -> None:
        """The workspace has let the app in, perhaps with another token, or taken it out."""
        self._known.forget(team)

    async def _installed(self, team: str) -> SlackWorkspace:
        token = None if self._installations is None else await self._installations.token_of(team)
        if token is None:
            raise NotDelivered(f"The Slack app is not installed in {team}: somebody there opens /hooks/slack/install")
        if token in self._refused:
            raise NotDelivered(f"Slack refuses the token of {team}: somebody there opens /hooks/slack/install again")

        def refused() -> None:
            self._refused.keep(token, True)
            self._known.forget(team)

        try:
            return await self._opened(token, refused)
        except AuthFailed as error:
            refused()
            raise NotDelivered(str(error)) from error

    async def _opened(self, token: str, refused: Callable[[], None] | None = None) -> SlackWorkspace:
        calls = SlackCalls(self._transport, token, refused)
        api = WebApi(calls)
        return SlackWorkspace(await api.me(), token, self._transport, api, StreamApi(calls), FileApi(calls))

    def _turn(self, team: str) -> anyio.Lock:
        return self._turns.setdefault(team, anyio.Lock(fast_acquire=True))
