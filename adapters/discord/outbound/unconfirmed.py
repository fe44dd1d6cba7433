"""Posts of webhooks with an unknown outcome, stored beyond the process, since webhooks know no nonce."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from adapters.discord.codec.addresses import snowflake_at
from adapters.recent import Recent
from adapters.records import Records, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.errors import RateLimited, StorageUnavailable

MAX_TRACES: Final = 50
"""The number of remembered attempts of one post; the newest are kept."""
STORAGE_PAUSE_S: Final = 1.0
KEPT_ANSWERED: Final = 50
"""The number of answered posts that are still remembered: the process may die before it records an answer."""
MAX_ELSEWHERE: Final = 10_000
"""The number of remembered posts that another process may have made."""
KEPT_FOR: Final = timedelta(days=7)
"""The time after which a post is forgotten."""


@dataclass(frozen=True, slots=True)
class UnconfirmedPost:
    """A post that may be there: who said it, digests of its attempts, and the id that anything posted since exceeds."""

    name: str
    since: str
    digests: tuple[str, ...] = ()

    def fits(self, name: str, trace: str) -> bool:
        """Whether a message with this name and trace is one of the attempts."""
        return name == self.name and _digest(trace) in self.digests

    def tried(self, trace: str) -> UnconfirmedPost:
        """The record after another attempt."""
        return UnconfirmedPost(self.name, self.since, (*self.digests, _digest(trace))[-MAX_TRACES:])


class UnconfirmedPosts:
    """By nonce. A post is in doubt from before it is made until some time after Discord has answered.

    Raises RateLimited: not kept.
    """

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._known: dict[str, UnconfirmedPost] | None = None
        self._answered: deque[str] = deque()
        self._elsewhere = Recent[str, bool](MAX_ELSEWHERE)

    def doubt(self, nonce: str) -> None:
        """Another process may have made this post, and have kept that since we read the records."""
        self._elsewhere.keep(nonce, True)

    def is_elsewhere(self, nonce: str) -> bool:
        """Whether another process may have made this post."""
        return nonce in self._elsewhere

    async def of(self, nonce: str) -> UnconfirmedPost | None:
        known = await self._all()
        if nonce in self._elsewhere:
            try:
                text = await self._records.get(nonce)
            except StorageUnavailable as error:
                raise _later(error) from error
            if text is not None:
                known |= what_can_be_read({nonce: text}, _read)
            self._elsewhere.forget(nonce)
        return known.get(nonce)

    async def put(self, nonce: str, doubt: UnconfirmedPost) -> None:
        (await self._all())[nonce] = doubt
        text = json.dumps([doubt.name, doubt.since, *doubt.digests])
        try:
            await self._records.put(nonce, text)
        except StorageUnavailable as error:
            raise _later(error) from error

    async def answered(self, nonce: str) -> None:
        """Record that the post exists. The record is dropped after this many later ones."""
        self._answered.append(nonce)
        if len(self._answered) > KEPT_ANSWERED:
            await self.settle(self._answered.popleft())

    async def settle(self, nonce: str) -> None:
        """The outcome of the post is known. A record that cannot be removed now does no harm."""
        (await self._all()).pop(nonce, None)
        try:
            await self._records.remove(nonce)
        except StorageUnavailable:
            return

    async def _all(self) -> dict[str, UnconfirmedPost]:
        if self._known is None:
            try:
                kept: Mapping[str, str] = await self._records.all()
            except StorageUnavailable as error:
                raise _later(error) from error
            self._known = what_can_be_read(kept, _read)
            oldest = snowflake_at(self._clock.now() - KEPT_FOR)
            for nonce in [nonce for nonce, doubt in self._known.items() if int(doubt.since) < oldest]:
                await self.settle(nonce)
        return self._known


def _read(text: str) -> UnconfirmedPost:
    name, since, *digests = json.loads(text)
    return UnconfirmedPost(str(name), str(int(since)), tuple(map(str, digests)))


def _digest(trace: str) -> str:
    return hashlib.blake2b(trace.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _later(error: Any) -> RateLimited:
    return RateLimited(f"What is about to be posted cannot be kept: {error}", retry_after_s=STORAGE_PAUSE_S)
