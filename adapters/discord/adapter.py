"""Discord: the gateway in, messages and edits out."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import anyio

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from adapters.discord.bot_api import BotApi
from adapters.discord.codec import (
    COMMANDS,
    PLATFORM,
    BotIdentity,
    channel_id_of,
    hook_name_of,
    invite_link,
    is_private,
    nonce_of,
    page_of,
)
from adapters.discord.intake import Intake
from adapters.discord.limits import CAPABILITIES, WEBHOOK_BUDGET
from adapters.discord.listener import INTENT_HELP, Session
from adapters.discord.patience import until_answered
from adapters.discord.webhooks import Spot, Webhooks, is_hooked
from adapters.records import Records
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, NotDelivered, OutcomeUncertain, RateLimited

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DiscordOptions:
    """How to talk to Discord.

    `base_url` is a server's address up to and including `/api/v10`; None is Discord's own. `show_names` says how an
    agent's name is shown in servers: webhooks speak under it, and where they may not, or with `headings`, it stands
    above the text. At most `buffer_size` events wait for the consumer; what is more is read from history later.
    """

    base_url: str | None = None
    show_names: Literal["webhooks", "headings", "never"] = "webhooks"
    call_timeout_s: float = 10.0
    buffer_size: int = 1000


class DiscordAdapter:
    """One bot. Sending needs no connection of `connect`; `aclose` ends both, once nothing is on its way any more.

    The gateway knows no acknowledgement: what it has delivered it forgets. So the last message taken of each
    conversation is marked durably, and whenever a session begins anew the messages after the marks are read from
    history before anything else (`catch_up.py` says what cannot be read). A resumed session is replayed by Discord.
    Commands from the menu are not in any history: their receipt says that they are safe, and without one a person
    sees that they failed.
    """

    def __init__(self, token: str, *, clock: Clock, marks: Records, options: DiscordOptions | None = None) -> None:
        self._options = options or DiscordOptions()
        self._token = token
        self._clock = clock
        self._marks = marks
        self._api = self._new_api()
        self._hooks = Webhooks(self._api, clock)
        self._joined: set[str] = set()

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says: an item is marked as taken when the consumer asks for the next one.

        The iterator raises AuthFailed when the gateway refuses the bot, also for a privileged intent.
        """
        us, _ = await until_answered(self._clock, self._api.identity, but=AuthFailed)
        await self._offer_commands(us)
        intake = Intake(self._api, self._session(), self._clock, self._marks, self._joined.__contains__)
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(intake.run)
            items = intake.items(us)
            try:
                yield items
            except Exception as error:  # noqa: BLE001 - raised again below: a task group would put it into a group
                failure = error
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await items.aclose()
        if failure is not None:
            raise failure

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """A channel and its threads share their webhook's; where none is used each has its own."""
        if is_private(to):
            return f"{PLATFORM}:{channel_id_of(to)}", CAPABILITIES.private_budget
        if self._through_hooks(to):
            return f"{PLATFORM}:{to.conversation}:webhook", WEBHOOK_BUDGET
        return f"{PLATFORM}:{channel_id_of(to)}", CAPABILITIES.group_budget

    async def check(self) -> str:
        api = self._new_api()
        try:
            us, reads = await api.identity()
        except (OutcomeUncertain, RateLimited) as error:
            raise NotDelivered(f"{error}. Whether the token is good cannot be told") from error
        finally:
            await api.close()
        if not reads:
            raise AuthFailed(INTENT_HELP)
        return f"Discord knows this bot as {us.name}. To let it into a server: {invite_link(us.application_id)}"

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """As the port says. A repeated nonce posts once for some minutes, through a webhook while the process lives."""
        if speaker.id and self._through_hooks(to):
            page = page_of(text, speaker, named=False)
            message = await self._hooks.send(_spot(to), hook_name_of(speaker), page, nonce)
            if message is not None:
                await self._join(to)
                return message
        return await self._api.send(channel_id_of(to), self._page(to, text, speaker), nonce_of(nonce))

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """As the port says."""
        if is_hooked(message):
            await self._hooks.edit(_spot(to), message, page_of(text, speaker, named=False))
        else:
            await self._api.edit(channel_id_of(to), message, self._page(to, text, speaker))

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show "typing" for ten seconds, under the bot's own name. Raises as `send`."""
        await self._api.typing(channel_id_of(to))

    async def aclose(self) -> None:
        """Close the connections. Nothing can be sent after that."""
        await self._api.close()

    def _new_api(self) -> BotApi:
        options = self._options
        return BotApi(self._token, base_url=options.base_url, clock=self._clock, call_timeout_s=options.call_timeout_s)

    def _session(self) -> Session:
        options = self._options
        return Session(self._token, options.base_url, options.call_timeout_s, options.buffer_size)

    def _page(self, to: Address, text: str, speaker: Speaker) -> str:
        return page_of(text, speaker, named=self._options.show_names != "never" and not is_private(to))

    def _through_hooks(self, to: Address) -> bool:
        wanted = self._options.show_names == "webhooks" and not is_private(to)
        return wanted and self._hooks.available(to.conversation)

    async def _offer_commands(self, us: BotIdentity) -> None:
        try:
            await self._api.offer_commands(us.application_id, COMMANDS)
        except AdapterError as error:
            _log.warning("Discord does not show the commands", extra={"error": str(error)})

    async def _join(self, to: Address) -> None:
        """A webhook's words do not make the bot a member of a thread, by which we know it after a restart."""
        if to.thread is not None and to.thread not in self._joined:
            self._joined.add(to.thread)
            with suppress(AdapterError):  # what was said stands; until a restart we know the thread without it
                await self._api.join(to.thread)


def _spot(to: Address) -> Spot:
    return Spot(to.conversation, to.thread)
