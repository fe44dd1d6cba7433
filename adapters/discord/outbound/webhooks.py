"""Agents under their own names: a few webhooks of ours in each channel, over which the agents are spread.

Webhooks know no nonce, so posts with an unknown outcome are stored beyond the process.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import anyio
from msgspec import Struct, field

from adapters.discord.api.bot import PAGE, DiscordApi
from adapters.discord.api.calls import HookGone
from adapters.discord.api.webhooks import DiscordHook, HookApi, WebhookSpot
from adapters.discord.codec.addresses import DiscordBot, number_of, snowflake_at
from adapters.discord.codec.payload import DiscordPost, DiscordWords, trace_of
from adapters.discord.limits import HOOKS_PER_CHANNEL
from adapters.recent import RecentValues
from adapters.records import Records, store_awaited, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, StorageUnavailable
from runtime.core.message import Choice

HOOK_NAMES: Final = ("Parley", *(f"Parley {number}" for number in range(2, HOOKS_PER_CHANNEL + 1)))
REFUSED_FOR_S: Final = 600.0
"""The pause before another attempt to create a webhook where that was refused."""
CLOCKS_APART_S: Final = 60.0
"""The largest assumed lead of our clock over Discord's, beyond what its answers tell, in a search for our posts."""
MAX_PAGES_SEARCHED: Final = 10
MAX_POSTED: Final = 10_000

_log = logging.getLogger(__name__)

MAX_TRACES: Final = 50
"""The number of remembered attempts of one post; the newest are kept."""
_UNKEPT: Final = "What is about to be posted cannot be kept"
KEPT_ANSWERED: Final = 50
"""The number of answered posts that are still remembered: the process may die before it records an answer."""
MAX_ELSEWHERE: Final = 10_000
KEPT_FOR: Final = timedelta(days=7)


class UnconfirmedPost(Struct, frozen=True):
    """A post that may be there: who said it, digests of its attempts, and the id that anything posted since exceeds."""

    name: str
    since: str
    digests: tuple[str, ...] = ()

    def fits(self, name: str, trace: str) -> bool:
        return name == self.name and _digest(trace) in self.digests

    def tried(self, trace: str) -> UnconfirmedPost:
        return UnconfirmedPost(self.name, self.since, (*self.digests, _digest(trace))[-MAX_TRACES:])


class UnconfirmedPosts:
    """By nonce, in doubt from before the post until some time after Discord's answer. Raises RateLimited: not kept."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: dict[str, UnconfirmedPost] | None = None
        self._answered: deque[str] = deque()
        self.elsewhere = RecentValues[str, bool](MAX_ELSEWHERE)

    def doubt(self, nonce: str) -> None:
        """Another process may have made this post, and have kept that since we read the records."""
        self.elsewhere.keep(nonce, True)

    async def of(self, nonce: str) -> UnconfirmedPost | None:
        known = await self._all()
        if nonce in self.elsewhere:
            with store_awaited(_UNKEPT):
                text = await self._records.get(nonce)
            if text is not None:
                known |= what_can_be_read({nonce: text}, _read)
            self.elsewhere.forget(nonce)
        return known.get(nonce)

    async def put(self, nonce: str, doubt: UnconfirmedPost) -> None:
        (await self._all())[nonce] = doubt
        text = json.dumps([doubt.name, doubt.since, *doubt.digests])
        with store_awaited(_UNKEPT):
            await self._records.put(nonce, text)

    async def answered(self, nonce: str) -> None:
        """Record that the post exists. The record is dropped after this many later ones."""
        self._answered.append(nonce)
        if len(self._answered) > KEPT_ANSWERED:
            await self.settle(self._answered.popleft())

    async def settle(self, nonce: str) -> None:
        """The outcome of the post is known. A record that cannot be removed now does no harm."""
        (await self._all()).pop(nonce, None)
        with suppress(StorageUnavailable):
            await self._records.remove(nonce)

    async def _all(self) -> dict[str, UnconfirmedPost]:
        if self._known is None:
            with store_awaited(_UNKEPT):
                self._known = what_can_be_read(await self._records.all(), _read)
            oldest = snowflake_at(self._clock.now() - KEPT_FOR)
            for nonce in [nonce for nonce, doubt in self._known.items() if int(doubt.since) < oldest]:
                await self.settle(nonce)
        return self._known


def _read(text: str) -> UnconfirmedPost:
    name, since, *digests = json.loads(text)
    return UnconfirmedPost(str(name), str(int(since)), tuple(map(str, digests)))


def _digest(trace: str) -> str:
    return hashlib.blake2b(trace.encode("utf-8", "replace"), digest_size=8).hexdigest()


def is_hooked(message: str) -> bool:
    return "@" in message


def seat_of(speaker_id: str) -> int:
    """The webhook of a channel that an agent speaks through; agents with consecutive numbers are spread evenly."""
    return sum(speaker_id.encode()) % HOOKS_PER_CHANNEL


class _Pool(Struct):
    """The webhooks of one channel by seat, and all that may have posted there."""

    seats: dict[int, DiscordHook] = field(default_factory=dict)
    all: dict[str, DiscordHook] = field(default_factory=dict)

    def add(self, hook: DiscordHook) -> DiscordHook:
        self.all[hook.id] = hook
        if hook.name in HOOK_NAMES:
            self.seats.setdefault(HOOK_NAMES.index(hook.name), hook)
        return hook

    def drop(self, hook: DiscordHook) -> None:
        self.all.pop(hook.id, None)
        self.seats = {seat: kept for seat, kept in self.seats.items() if kept.id != hook.id}


class DiscordWebhooks:
    """Makes, remembers and speaks through webhooks; a message's id names its webhook, `<message>@<webhook>`.

    Webhooks know no nonce. A post with a nonce whose outcome is not known, also from before a crash, is looked for in
    what was written since, before it is posted again.
    """

    def __init__(self, hooks: HookApi, api: DiscordApi, clock: Clock, doubts: UnconfirmedPosts) -> None:
        self._hooks = hooks
        self._api = api
        self._clock = clock
        self._doubts = doubts
        self._pools: dict[str, _Pool] = {}
        self._refused_until_s: dict[str, float] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._posted = RecentValues[str, str](MAX_POSTED)
        self._newest = RecentValues[str, int](MAX_POSTED)
        self.away = RecentValues[str, Callable[[], bool]](MAX_POSTED)
        """By nonce, whether the conversation of a post is another process's by now."""
        self._us: DiscordBot | None = None

    def available(self, channel: str) -> bool:
        """Whether agents speak through a webhook there, as far as known."""
        return self._refused_until_s.get(channel, 0.0) <= self._clock.monotonic()

    def known_as(self, number: str) -> str:
        hook = self._posted.get(number)
        return number if hook is None else f"{number}@{hook}"

    async def server(self, channel: str, speaker_id: str) -> str | None:
        """The server of a channel in which webhooks are permitted."""
        hook = await self._seated(channel, seat_of(speaker_id))
        return None if hook is None else hook.server

    async def server_of(self, spot: WebhookSpot, message: str) -> str | None:
        """The server of the webhook that posted a message, given by our id. Raises HookGone."""
        return (await self._author(spot, message)).server

    async def send(self, spot: WebhookSpot, speaker_id: str, post: DiscordPost, nonce: str) -> dict[str, Any] | None:
        """Post; returns the message under our id, or None where webhooks are not permitted. As `Adapter.send`."""
        seat = seat_of(speaker_id)
        if nonce in self._doubts.elsewhere:
            self._pools.pop(spot.channel, None)  # the other process may have made a webhook
        hook = await self._seated(spot.channel, seat)
        if hook is None:
            return None
        doubt = await self._doubts.of(nonce)
        message = await self._landed(spot, doubt) if doubt is not None else None
        away = self.away.get(nonce)
        if message is None:
            if doubt is not None and away is not None and away():
                raise OutcomeUncertain("Discord: another node may have the conversation now")
            message = await self._post(hook, seat, spot, post, nonce)
        self.away.forget(nonce)
        await self._doubts.answered(nonce)
        self._note(message, spot)
        return {**message, "id": f"{message['id']}@{message['webhook_id']}"}

    async def edit(
        self, spot: WebhookSpot, message: str, words: DiscordWords, choices: Sequence[Choice] | None = None
    ) -> dict[str, Any]:
        """Replace the text of a message, given by our id. Raises as `CanEdit.edit`, and HookGone."""
        hook = await self._author(spot, message)
        try:
            return await self._hooks.edit(hook, spot, number_of(message), words, choices)
        except HookGone:
            self._pools[spot.channel].drop(hook)
            raise

    async def delete(self, spot: WebhookSpot, message: str) -> None:
        """Delete a message, given by our id. Raises as `CanDelete.delete`, and HookGone."""
        hook = await self._author(spot, message)
        await self._hooks.delete(hook, spot, number_of(message))

    async def _author(self, spot: WebhookSpot, message: str) -> DiscordHook:
        number, _, hook_id = message.partition("@")
        pool = await self._pool(spot.channel)
        hook = pool.all.get(hook_id) if pool is not None else None
        if hook is None:
            raise HookGone(f"The webhook {hook_id} that said message {number} no longer exists")
        return hook

    async def _post(
        self, hook: DiscordHook, seat: int, spot: WebhookSpot, post: DiscordPost, nonce: str
    ) -> dict[str, Any]:
        try:
            return await self._posted_by(hook, spot, post, nonce)
        except HookGone:
            self._pools[spot.channel].drop(hook)
        new = await self._seated(spot.channel, seat)
        if new is None:
            raise NotDelivered("The webhook was deleted and another may not be made; the next message names its agent")
        return await self._posted_by(new, spot, post, nonce)

    async def _posted_by(self, hook: DiscordHook, spot: WebhookSpot, post: DiscordPost, nonce: str) -> dict[str, Any]:
        name = post.name.name if post.name is not None else ""
        before = await self._doubts.of(nonce)
        await self._doubts.put(nonce, (before or UnconfirmedPost(name, self._since(spot))).tried(post.trace))
        try:
            message = await self._hooks.send(hook, spot, post)
        except OutcomeUncertain:
            raise
        except AdapterError:
            await (self._doubts.settle(nonce) if before is None else self._doubts.put(nonce, before))
            raise
        return {"webhook_id": hook.id, **message}

    def _since(self, spot: WebhookSpot) -> str:
        """An id above all our known posts there and below everything posted from now on."""
        early = snowflake_at(self._clock.now() - timedelta(seconds=CLOCKS_APART_S))
        return str(max(early, self._newest.get(spot.place) or 0))

    def _note(self, message: dict[str, Any], spot: WebhookSpot) -> None:
        number = str(message["id"])
        self._posted.keep(number, str(message["webhook_id"]))
        self._newest.keep(spot.place, max(int(number), self._newest.get(spot.place) or 0))

    async def _landed(self, spot: WebhookSpot, doubt: UnconfirmedPost) -> dict[str, Any] | None:
        """The message of a post that seemed to fail, if it exists after all."""
        pool = await self._pool(spot.channel)
        after = doubt.since
        for _ in range(MAX_PAGES_SEARCHED):
            page = await self._api.after(spot.place, after)
            for message in page:
                ours = pool is not None and message.get("webhook_id") in pool.all
                fits = ours and doubt.fits(message["author"]["username"], trace_of(message))
                if fits and message["id"] not in self._posted:
                    return message
            if len(page) < PAGE:
                return None
            after = page[-1]["id"]
        return None

    async def _seated(self, channel: str, seat: int) -> DiscordHook | None:
        """The webhook of a seat, created if missing. Another seat's if no more are allowed, None if there are none."""
        pool = await self._pool(channel)
        if pool is None:
            return None
        async with self._locks[channel]:
            if seat in pool.seats:
                return pool.seats[seat]
            try:
                return pool.add(await self._hooks.make(channel, HOOK_NAMES[seat]))
            except NotDelivered as error:
                if pool.seats:
                    return next(iter(pool.seats.values()))
                self._refuse(channel, error)
                return None

    async def _pool(self, channel: str) -> _Pool | None:
        """The channel's webhooks; None if the bot may not list them."""
        async with self._locks.setdefault(channel, anyio.Lock()):
            if channel not in self._pools and self.available(channel):
                try:
                    if self._us is None:
                        self._us = (await self._api.identity())[0]
                    found = await self._hooks.of_channel(channel, self._us)
                except NotDelivered as error:
                    self._refuse(channel, error)
                    return None
                pool = self._pools[channel] = _Pool()
                for hook in found:
                    pool.add(hook)
            return self._pools.get(channel) if self.available(channel) else None

    def _refuse(self, channel: str, error: NotDelivered) -> None:
        self._refused_until_s[channel] = self._clock.monotonic() + REFUSED_FOR_S
        self._pools.pop(channel, None)
        _log.warning("Agents cannot speak under their names here", extra={"error": str(error)})
