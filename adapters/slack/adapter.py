"""Slack: Socket Mode or HTTP in, messages, edits and streams out. Each thread is a separate conversation."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from adapters.adapter import Admits, Call, HandsOver, HttpAnswer, HttpRequest, Inbound, everybody_may, to_nobody
from adapters.capabilities import Budget, Draws
from adapters.platform_clock import PlatformClock
from adapters.records import Records
from adapters.retrying import PlatformPatience
from adapters.slack.api.calls import AppApi, SlackTransport
from adapters.slack.api.workspaces import SlackInstallations, SlackWorkspaces
from adapters.slack.codec.addresses import PLATFORM, blocks_of, channel_of, is_private, team_of
from adapters.slack.inbound.bolt import BoltApp, answer_http
from adapters.slack.inbound.catch_up import ChannelMarks, SlackCatchUp, earlier_in
from adapters.slack.inbound.commands import SlackCommands
from adapters.slack.inbound.deliveries import SlackDeliveries
from adapters.slack.inbound.event_socket import NOT_HEARD, EventSocket
from adapters.slack.inbound.oauth import AppKeys, InstallationStore, InstallFlow
from adapters.slack.inbound.receiver import SlackReceiver
from adapters.slack.limits import CAPABILITIES, METHODS, POSTS
from adapters.slack.manifest import ESSENTIAL, lacking
from adapters.slack.outbound.answers import SlackThreads
from adapters.slack.outbound.sender import SlackSender
from runtime.core.address import Address, Speaker
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, NotDelivered, OutcomeUncertain, RateLimited
from runtime.core.texts import Texts, english

_log = logging.getLogger(__name__)


class SlackKeys(Struct, frozen=True):
    """The secrets for Slack: one to send with, one to receive with.

    To speak, `bot_token` for one workspace, or `app` with the table `installations` for all that install it. To hear,
    `app_token` for Socket Mode, or `signing_secret` for requests of Slack's.
    """

    bot_token: str | None = None
    app_token: str | None = None
    signing_secret: str | None = None
    app: AppKeys | None = None
    installations: Records | None = None


class SlackOptions(Struct, frozen=True):
    """The options of the Slack adapter. `base_url` is the Web API's address up to and including `/api/`; None is
    Slack's own.

    `commands` are ours with what they do, as people are told; `texts` is how we say things. `admits` is asked before a
    thread or a form is opened. `direct_threads`: each direct message outside of threads begins a conversation in its
    own, as Slack shows them for an app with an `agent_view`; otherwise all of them are one conversation. `prompts` are
    messages that people are offered to begin with, before the commands. `thumbs`: people may rate answers by buttons.
    `hands_over` gets Bolt's app.
    """

    base_url: str | None = None
    call_timeout_s: float = 10.0
    commands: Mapping[str, str] = field(default_factory=dict)
    texts: Texts = field(default_factory=english)
    admits: Admits = everybody_may
    direct_threads: bool = True
    prompts: Sequence[str] = ()
    thumbs: bool = True
    hands_over: HandsOver = to_nobody


class SlackAdapter(SlackSender):
    """One app. Sending needs no connection of `connect`; `aclose` ends the connections of sending."""

    name = PLATFORM
    capabilities = CAPABILITIES

    def __init__(self, keys: SlackKeys, *, clock: Clock, marks: Records, options: SlackOptions | None = None) -> None:
        """`marks` keeps up to which message each conversation was taken."""
        self._options = options or SlackOptions()
        self._keys = keys
        self.clock = clock = PlatformClock(clock)
        self._transport = SlackTransport(self._options.base_url, self._options.call_timeout_s, clock)
        self._app = AppApi(self._transport, keys.app_token)
        installations = None if keys.installations is None else SlackInstallations(keys.installations)
        self._installations = installations
        threads, own = SlackThreads(), self._options
        workspaces = SlackWorkspaces(self._transport, keys.bot_token, installations)
        super().__init__(workspaces, threads, clock, own.texts, thumbs=own.thumbs)
        commanding = SlackCommands(threads, clock, own.commands, own.texts, own.admits, own.direct_threads)
        self._marks = ChannelMarks(marks)
        self._catch_up = SlackCatchUp(workspaces, threads, self._marks, clock)
        self._hearing = SlackReceiver(workspaces, commanding, self._marks, own.prompts)
        self._door: InstallFlow | None = None
        if keys.app is not None and installations is not None:
            store = InstallationStore(installations, self._workspaces)
            self._door = InstallFlow(self._app, keys.app, store, clock)
        self._bolt = BoltApp(self._transport, self._workspaces, keys.signing_secret, clock, self._door)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says. What was missed is read from history meanwhile. Raises StorageUnavailable."""
        patience = PlatformPatience(self._clock, NOT_HEARD)
        workspace = await patience.until_answered(self._workspaces.ask_again)
        if workspace is not None and (missing := lacking(workspace.scopes)):
            _log.warning("The Slack app lacks scopes", extra={"scopes": " ".join(missing)})
        url = None if self._keys.app_token is None else await patience.until_answered(self._app.socket_url)
        await self._marks.load(f"{self._clock.now().timestamp():.6f}")
        await self._bolt.extend(self._options.hands_over, None if workspace is None else workspace.token)
        deliveries = SlackDeliveries()
        inbound = self._hearing.inbound(deliveries)
        async with beside() as tasks:
            self._bolt.begin(deliveries, tasks)
            tasks.start_soon(self._catch_up.run, deliveries)
            if url is not None:
                tasks.start_soon(self._socket(deliveries).listen, url)
            else:
                self._catch_up.missed()
            try:
                yield inbound
            finally:
                self._bolt.end()
                deliveries.close()
                await inbound.aclose()

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        """Events, commands and presses at `/events`; `/install` and `/oauth` let workspaces in."""
        if request.path in ("/install", "/oauth") and self._door is not None:
            return await self._door.answer(request)
        if request.path == "/events" and self._keys.signing_secret is not None:
            return await answer_http(self._bolt, request)
        return HttpAnswer(404, b"There is nothing here.\n")

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        return await earlier_in(self._workspaces, self._hearing.person, to, before, at_most)

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Tell in the thread (chat.postEphemeral), until the app is loaded anew. Below a message without replies Slack
        shows no such message (its `thread_ts`), so it is in the channel then.
        """
        workspace = await self._workspaces.of(team_of(to))
        thread = to.thread if to.key in self._threads.spoken_in else None
        await workspace.api.tell_alone(channel_of(to), thread, person_id.rpartition(":")[2], blocks_of(text, None))

    async def private_with(self, to: Address, person_id: str, /) -> Address:
        """The direct conversation with a person. Raises MissingScope for an app without `im:write`."""
        workspace = await self._workspaces.of(team_of(to))
        channel = await workspace.api.direct_channel(person_id.rpartition(":")[2])
        return replace(to, conversation=f"{team_of(to)}:{channel}", thread=None)

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """As `tell_alone`, in channels; in a direct conversation nobody else reads along."""
        if is_private(to):
            return False
        await self.tell_alone(to, person_id, text)
        return True

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """Threads of a channel share its bucket; the workspace's limit of edits is a bucket of the whole bot."""
        size = CAPABILITIES.private_budget if is_private(to) else CAPABILITIES.group_budget
        return f"{PLATFORM}:{to.conversation}", size

    def draws(self, to: Address, call: Call, /, *, speaker: Speaker | None = None) -> Draws:
        """Slack limits methods separately: posts by channel, all others by workspace."""
        if call == "send":
            return ((f"slack:{to.conversation}", POSTS),)
        method, size = METHODS[call]
        return ((f"slack:{team_of(to)}:{method}", size),)

    async def check(self) -> str:
        """Whether the settings are accepted. Raises AuthFailed for an app that cannot hear or speak."""
        try:
            if self._keys.app_token is not None:
                await self._app.socket_url()
            if self._keys.bot_token is None:
                return await self._installed()
            workspace = await self._workspaces.only(self._keys.bot_token)
        except (OutcomeUncertain, RateLimited) as error:
            raise NotDelivered(f"{error}. So Parley cannot tell whether the tokens are valid") from error
        finally:
            await self.aclose()
        told = f"Slack knows this bot as @{workspace.bot.name} in {workspace.bot.team}"
        if not workspace.scopes:
            return f"{told}; Slack does not say which scopes it has"
        if missing := lacking(workspace.scopes):
            told = f"{told}; add these scopes and install the app again: {' '.join(missing)}"
            if any(scope in ESSENTIAL for scope in missing):
                raise AuthFailed(told)
        return told

    async def aclose(self) -> None:
        """Close the connections. They open again with the next call."""
        await self._transport.close()

    async def _installed(self) -> str:
        names = [] if self._installations is None else await self._installations.names()
        if not names:
            return "no workspace has installed the app yet: open /hooks/slack/install at the gateway's public address"
        return f"installed in {', '.join(names)}"

    def _socket(self, deliveries: SlackDeliveries) -> EventSocket:
        patience, timeout_s = PlatformPatience(self._clock, NOT_HEARD), self._options.call_timeout_s
        return EventSocket(
            self._app.socket_url, self._bolt, deliveries, patience, timeout_s, missed=self._catch_up.missed
        )


def keys_missing(keys: SlackKeys) -> str | None:
    if keys.bot_token is None and keys.app is None:
        return "slack.bot_token, or slack.client_id with slack.client_secret"
    if keys.app_token is None and keys.signing_secret is None:
        return "slack.app_token (Socket Mode) or slack.signing_secret (HTTP)"
    return None
