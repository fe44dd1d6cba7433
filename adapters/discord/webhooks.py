"""Agents under their own names: one webhook of ours in each channel, through which all of them speak."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

import anyio

from adapters.discord.bot_api import PAGE, BotApi, Hook, HookGone
from adapters.discord.codec import snowflake_at
from runtime.core.clock import Clock
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain

HOOK_NAME: Final = "Parley"
REFUSED_FOR_S: Final = 600.0
"""After how long it is tried again to make a webhook where that was not allowed."""
CLOCKS_APART_S: Final = 60.0
"""How far our clock may be before Discord's when we look for what we may have posted."""
MAX_PAGES_SEARCHED: Final = 10
"""Pages of history that are looked through for one such post."""
MAX_DOUBTS: Final = 1000
MAX_POSTED: Final = 10_000

_log = logging.getLogger(__name__)


def is_hooked(message: str) -> bool:
    """Whether the message with this id was posted through a webhook."""
    return "@" in message


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a webhook speaks: in a channel, or in a thread of it."""

    channel: str
    thread: str | None


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Posts whose outcome is not known: who said what, and the id that anything posted since surely exceeds."""

    name: str
    texts: frozenset[str]
    since: str


class Webhooks:
    """Makes, remembers and speaks through webhooks; a message's id names its webhook, `<message>@<webhook>`.

    Webhooks know no nonce. A post with a nonce whose outcome was uncertain is looked for in what was written since,
    before it is posted again; that memory ends with the process.
    """

    def __init__(self, api: BotApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._known: dict[str, Hook] = {}
        self._refused_until_s: dict[str, float] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._doubts: OrderedDict[str, _Doubt] = OrderedDict()
        self._posted: OrderedDict[str, None] = OrderedDict()
        self._application_id: str | None = None

    def available(self, channel: str) -> bool:
        """Whether agents speak through a webhook there, as far as is known."""
        return self._refused_until_s.get(channel, 0.0) <= self._clock.monotonic()

    async def send(self, spot: Spot, name: str, text: str, nonce: str) -> str | None:
        """Post and return the message's id; None where webhooks are not permitted. Raises as `Adapter.send`."""
        hook = await self._hook(spot.channel)
        if hook is None:
            return None
        doubt = self._doubts.get(nonce)
        landed = await self._landed(hook, spot, doubt) if doubt is not None else None
        if landed is None:
            landed = await self._post(hook, spot, name, text, nonce)
        self._doubts.pop(nonce, None)
        self._posted[landed] = None
        _trim(self._posted, MAX_POSTED)
        return landed

    async def edit(self, spot: Spot, message: str, text: str) -> None:
        """Replace the text of a message with an id of ours. Raises as `CanEdit.edit`."""
        number, _, hook_id = message.partition("@")
        hook = await self._hook(spot.channel)
        if hook is None or hook.id != hook_id:
            raise MessageGone(f"The webhook {hook_id} that said message {number} is not there any more")
        try:
            await self._api.hook_edit(hook, spot.thread, number, text)
        except HookGone as error:
            self._known.pop(spot.channel, None)
            raise MessageGone(str(error)) from error

    async def _post(self, hook: Hook, spot: Spot, name: str, text: str, nonce: str) -> str:
        try:
            return await self._posted_by(hook, spot, name, text, nonce)
        except HookGone:
            self._known.pop(spot.channel, None)
        new = await self._hook(spot.channel)
        if new is None:
            raise NotDelivered("The webhook was deleted and another may not be made; the next message names its agent")
        return await self._posted_by(new, spot, name, text, nonce)

    async def _posted_by(self, hook: Hook, spot: Spot, name: str, text: str, nonce: str) -> str:
        since = str(snowflake_at(self._clock.now()) - (int(CLOCKS_APART_S * 1000) << 22))
        try:
            return f"{await self._api.hook_send(hook, spot.thread, name, text)}@{hook.id}"
        except OutcomeUncertain:
            known = self._doubts.get(nonce, _Doubt(name, frozenset(), since))
            self._doubts[nonce] = replace(known, texts=known.texts | {text.strip()})
            _trim(self._doubts, MAX_DOUBTS)
            raise

    async def _landed(self, hook: Hook, spot: Spot, doubt: _Doubt) -> str | None:
        """The message of a post that seemed to fail, where it is there after all."""
        after = doubt.since
        for _ in range(MAX_PAGES_SEARCHED):
            page = await self._api.after(spot.thread or spot.channel, after)
            for message in page:
                known_as = f"{message['id']}@{hook.id}"
                said_by = (message.get("webhook_id"), message["author"]["username"])
                same = said_by == (hook.id, doubt.name) and message["content"].strip() in doubt.texts
                if same and known_as not in self._posted:
                    return known_as
            if len(page) < PAGE:
                return None
            after = page[-1]["id"]
        return None

    async def _hook(self, channel: str) -> Hook | None:
        """The channel's webhook, made where it is missing; None where that is not permitted."""
        async with self._locks.setdefault(channel, anyio.Lock()):
            if channel not in self._known and self.available(channel):
                try:
                    self._known[channel] = await self._found_or_made(channel)
                except NotDelivered as error:
                    self._refused_until_s[channel] = self._clock.monotonic() + REFUSED_FOR_S
                    _log.warning("Agents cannot speak under their names here", extra={"error": str(error)})
            return self._known.get(channel)

    async def _found_or_made(self, channel: str) -> Hook:
        if self._application_id is None:
            self._application_id = (await self._api.identity())[0].application_id
        found = await self._api.hooks(channel, self._application_id)
        return found[0] if found else await self._api.make_hook(channel, HOOK_NAME)


def _trim(kept: OrderedDict[str, _Doubt] | OrderedDict[str, None], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
