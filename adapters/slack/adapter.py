"""Slack: Socket Mode in, messages and edits out. A thread is a conversation of its own."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from adapters.slack.codec import (
    OWN_NAMES,
    PLATFORM,
    BotIdentity,
    Face,
    address_of,
    channel_of,
    face_of,
    in_direct_messages,
    inbound_of,
    is_private,
    mentions,
    message_in,
    page_of,
    people_in,
)
from adapters.slack.event_socket import Delivery, EventSocket
from adapters.slack.limits import CAPABILITIES
from adapters.slack.memory import Memory
from adapters.slack.patience import Patience
from adapters.slack.web_api import MissingScope, WebApi
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, RateLimited

STATUS: Final = "is thinking…"
REMEMBERED: Final = 10_000
"""Of threads, people and messages each: what is forgotten is asked for again."""
LOOK_BACK_S: Final = 86_400.0
"""How far back a message is looked for that may have been posted already."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackOptions:
    """How to talk to Slack. `base_url` is the Web API's address up to and including `/api/`; None is Slack's own."""

    base_url: str | None = None
    call_timeout_s: float = 10.0
    ping_interval_s: float = 5.0


class SlackAdapter:
    """One app in one workspace. Sending needs no connection of `connect`; `aclose` ends the connections of sending."""

    def __init__(self, bot_token: str, app_token: str, *, clock: Clock, options: SlackOptions | None = None) -> None:
        self._options = options or SlackOptions()
        self._tokens = (bot_token, app_token)
        self._clock = clock
        self._api = self._new_api()
        self._own_names: bool | None = None
        self._names = Memory[str](REMEMBERED)
        self._ours = Memory[bool](REMEMBERED)
        self._spoken_in = Memory[bool](REMEMBERED)
        self._doubtful = Memory[bool](REMEMBERED)
        self._statuses = Memory[bool](REMEMBERED)

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says. An event that is not acknowledged within 3 s comes again, and is known as the same."""
        patience = Patience(self._clock)
        bot = await patience.until_answered(self._api.me)
        self._own_names = OWN_NAMES not in bot.lacks
        if bot.lacks:
            _log.warning("The Slack app lacks scopes", extra={"scopes": " ".join(bot.lacks)})
        url = await patience.until_answered(self._api.socket_url)
        socket = EventSocket(
            self._api.socket_url,
            self._clock,
            ping_interval_s=self._options.ping_interval_s,
            call_timeout_s=self._options.call_timeout_s,
        )
        inbound = self._inbound(socket, bot)
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(socket.listen, url)
            try:
                yield inbound
            except Exception as error:  # noqa: BLE001 - the task group would wrap it; it is raised below
                failure = error
            finally:
                await inbound.aclose()
                socket.close()
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """Threads of a channel share its bucket; the workspace's limit of edits is the bot-wide one."""
        size = CAPABILITIES.private_budget if is_private(to) else CAPABILITIES.group_budget
        return f"{PLATFORM}:{to.conversation}", size

    async def check(self) -> str:
        """Whether both tokens are accepted, and which scopes are missing."""
        api = self._new_api()
        try:
            bot = await api.me()
            await api.socket_url()
        except (OutcomeUncertain, RateLimited) as error:
            raise NotDelivered(f"{error}. Whether the tokens are good cannot be told") from error
        finally:
            await api.close()
        told = f"Slack knows this bot as @{bot.name} in {bot.team}"
        if bot.lacks:
            return f"{told}; add these scopes and install the app again: {' '.join(bot.lacks)}"
        return told

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """As the port says. Where an earlier attempt may have posted it, it is looked for first."""
        message = await self._posted_before(to, nonce)
        if message is None:
            message = await self._post(to, text, speaker, nonce)
        self._doubtful.forget(nonce)
        self._statuses.forget(to.key)
        self._spoken_in.keep(to.key, True)
        self._ours.keep(to.key, True)
        return message

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """As the port says. A message keeps the name under which it was posted."""
        page = page_of(text, await self._heading(speaker))
        await self._api.edit(channel_of(to), message, page)
        if final:
            await self._clear_status(to)

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show in a thread that the speaker is thinking; outside of threads Slack shows nothing. Raises as `send`."""
        if to.thread is not None:
            self._statuses.keep(to.key, True)
            await self._api.set_status(channel_of(to), to.thread, STATUS, await self._face(speaker))

    async def aclose(self) -> None:
        """Close the connections. Nothing can be sent after that."""
        await self._api.close()

    def _new_api(self) -> WebApi:
        bot_token, app_token = self._tokens
        options = self._options
        return WebApi(bot_token, app_token, base_url=options.base_url, call_timeout_s=options.call_timeout_s)

    async def _posted_before(self, to: Address, nonce: str) -> str | None:
        """The message, if it is there already: after an unclear outcome of ours, or of another process before us."""
        if nonce not in self._doubtful and to.key in self._spoken_in:
            return None
        since_s = self._clock.now().timestamp() - LOOK_BACK_S
        try:
            return await self._api.find(channel_of(to), to.thread, nonce, since_s)
        except NotDelivered as error:
            _log.warning("Whether a message was posted before cannot be looked up", extra={"error": str(error)})
            return None

    async def _post(self, to: Address, text: str, speaker: Speaker, nonce: str) -> str:
        try:
            return await self._post_once(to, text, speaker, nonce)
        except MissingScope as error:
            if error.needed != OWN_NAMES or not self._own_names:
                raise
            self._own_names = False
        return await self._post_once(to, text, speaker, nonce)

    async def _post_once(self, to: Address, text: str, speaker: Speaker, nonce: str) -> str:
        page = page_of(text, await self._heading(speaker))
        self._doubtful.keep(nonce, True)
        try:
            return await self._api.send(channel_of(to), to.thread, page, await self._face(speaker), nonce)
        except OutcomeUncertain:
            raise
        except AdapterError:
            self._doubtful.forget(nonce)
            raise

    async def _face(self, speaker: Speaker) -> Face | None:
        """The speaker's own name and icon, where the app may give them."""
        if self._own_names is None:
            self._own_names = OWN_NAMES not in (await self._api.me()).lacks
        return face_of(speaker) if self._own_names else None

    async def _heading(self, speaker: Speaker) -> str | None:
        """The speaker's name above the text, where the message cannot appear under it."""
        if await self._face(speaker) is not None:
            return None
        face = face_of(speaker)
        return None if face is None else face.username

    async def _clear_status(self, to: Address) -> None:
        """Slack takes a status away with our next message, but not with the edit that finishes one."""
        if to.thread is None or to.key not in self._statuses:
            return
        try:
            await self._api.set_status(channel_of(to), to.thread, "", None)
            self._statuses.forget(to.key)
        except AdapterError as error:
            _log.info("A status stays until Slack takes it away", extra={"error": str(error)})

    async def _inbound(self, socket: EventSocket, bot: BotIdentity) -> AsyncGenerator[Inbound, None]:
        while True:
            delivery = await socket.next()
            try:
                item = await self._read(delivery, bot)
            except (RateLimited, OutcomeUncertain) as error:
                _log.warning("A message on Slack is left to come again", extra={"error": str(error)})
                socket.leave(delivery)
                continue
            if item is not None:
                yield item
            await socket.acknowledge(delivery)

    async def _read(self, delivery: Delivery, bot: BotIdentity) -> Inbound | None:
        """What a person said, or None. Raises RateLimited or OutcomeUncertain where that cannot be told now."""
        try:
            message = message_in(delivery.body, bot)
            if message is None:
                return None
            addressed = await self._is_addressed(message, bot, fresh=not delivery.again)
            names = await self._names_of(people_in(message, bot))
            return inbound_of(delivery.body, bot, names, addressed=addressed)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _log.warning("An event of Slack's is not understood and is passed over", extra={"error": repr(error)})
            return None

    async def _is_addressed(self, message: Mapping[str, Any], bot: BotIdentity, *, fresh: bool) -> bool:
        if in_direct_messages(message):
            return True
        key = address_of(message, bot).key
        if mentions(message, bot):
            self._ours.keep(key, True)
            if fresh and "thread_ts" not in message:
                self._spoken_in.keep(key, True)
            return True
        return "thread_ts" in message and await self._is_ours(key, message, bot)

    async def _is_ours(self, key: str, message: Mapping[str, Any], bot: BotIdentity) -> bool:
        """Whether we take part in the thread: as remembered, else as Slack knows."""
        if message.get("parent_user_id") == bot.user_id:
            return True
        known = self._ours.get(key)
        if known is None:
            try:
                known = await self._api.takes_part(message["channel"], message["thread_ts"], bot)
            except NotDelivered as error:
                _log.warning("Who takes part in a thread cannot be looked up", extra={"error": str(error)})
                return False
            self._ours.keep(key, known)
        return known

    async def _names_of(self, people: Iterable[str]) -> dict[str, str]:
        """Names by id, without those that Slack does not tell now."""
        names = {}
        for user in people:
            name = self._names.get(user)
            if name is None:
                try:
                    name = await self._api.person_name(user)
                except AdapterError as error:
                    _log.info("A name on Slack cannot be looked up", extra={"error": str(error)})
                    continue
                self._names.keep(user, name)
            names[user] = name
        return names
