"""Deliveries from Slack: each once, until it is read, and settled when its reader says whether it is safe."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, Literal

import anyio
from msgspec import Struct, field

from adapters.recent import RecentValues
from adapters.slack.codec.events import is_said
from runtime.core.errors import AuthFailed

MOST_WAITING: Final = 1000
"""The number of deliveries that may wait to be read; Slack sends further ones again."""
DONE_REMEMBERED: Final = 10_000
"""The number of stored deliveries remembered, because Slack repeats them for up to 6 minutes."""
Kind = Literal["event", "command", "choice", "rating", "answer", "form"]

_log = logging.getLogger(__name__)


class Delivery(Struct, frozen=True):
    """A delivery to the app in the workspace `team`. `again`: Slack has sent it before."""

    event_id: str
    body: Mapping[str, Any]
    again: bool
    team: str | None
    kind: Kind = "event"


class _Pending(Struct, eq=False):
    settled: anyio.Event = field(default_factory=anyio.Event)
    safe: bool = False
    words: Mapping[str, Any] | None = None


class SlackDeliveries:
    def __init__(self) -> None:
        self._arrived, self._waiting = anyio.create_memory_object_stream[Delivery](MOST_WAITING)
        self._pending: dict[str, _Pending] = {}
        self._done = RecentValues[str, bool](DONE_REMEMBERED)
        self._failure: AuthFailed | None = None

    async def stored(self, delivery: Delivery) -> tuple[bool, Mapping[str, Any] | None]:
        """Hand a delivery in, and return once it is settled: whether it is safe, and words for its author.

        It waits in line before this first suspends. Slack repeats what is not safe; a repetition waits with the first.
        """
        if delivery.event_id in self._done:
            return True, None
        pending = self._pending.get(delivery.event_id) or self._keep(delivery)
        await pending.settled.wait()
        return pending.safe, pending.words

    async def next(self) -> Delivery:
        """The next new delivery. Raises AuthFailed after `fail` was called."""
        try:
            return await self._waiting.receive()
        except anyio.EndOfStream:
            if self._failure is None:
                raise
            raise self._failure from None

    def acknowledge(self, delivery: Delivery, words: Mapping[str, Any] | None = None) -> None:
        self._done.keep(delivery.event_id, True)
        self._settle(delivery.event_id, safe=True, words=words)

    def leave(self, delivery: Delivery) -> None:
        """The delivery is not stored: Slack shall send it again."""
        self._settle(delivery.event_id, safe=False)

    def fail(self, failure: AuthFailed | None) -> None:
        self._failure = failure
        self._arrived.close()

    def close(self) -> None:
        """Stop reading; unread deliveries are left to Slack."""
        self._arrived.close()
        self._waiting.close()
        for event_id in list(self._pending):
            self._settle(event_id, safe=False)

    def _keep(self, delivery: Delivery) -> _Pending:
        pending = self._pending[delivery.event_id] = _Pending()
        try:
            self._arrived.send_nowait(delivery)
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            _log.warning("Too much of Slack's waits; something is left for later", extra={"waiting": MOST_WAITING})
            self.leave(delivery)
        return pending

    def _settle(self, event_id: str, *, safe: bool, words: Mapping[str, Any] | None = None) -> None:
        pending = self._pending.pop(event_id, None)
        if pending is not None:
            pending.safe, pending.words = safe, words
            pending.settled.set()


def message_id(event: Mapping[str, Any]) -> str:
    """The id of the delivery of a message: the same when it is delivered and when it is read from history."""
    return f"message:{event.get('channel')}:{event.get('ts')}"


def delivery_id(kind: Kind, body: Mapping[str, Any]) -> str:
    """The id that a delivery has each time it comes. Raises LookupError or AttributeError for other forms."""
    if kind == "event":
        return message_id(body["event"]) if is_said(body["event"]) else str(body["event_id"])
    return f"{body.get('type', 'command')}:{body.get('trigger_id') or body['view']['id']}"
