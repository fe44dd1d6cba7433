"""Deliveries from Slack, by Socket Mode or HTTP: each once, until it is read, and confirmed when its reader says that
it is safe.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio

from adapters.adapter import NOT_UNDERSTOOD
from adapters.recent import Recent
from adapters.slack.codec.events import is_said
from runtime.core.errors import AuthFailed

MOST_WAITING: Final = 1000
"""The number of deliveries that may wait to be read; Slack sends further ones again."""
DONE_REMEMBERED: Final = 10_000
"""The number of confirmed deliveries remembered, because Slack repeats them for up to 6 minutes."""

Kind = Literal["events_api", "slash_commands", "interactive"]
"""The kind of a delivery, in the names of Socket Mode."""

Confirm = Callable[[bool, Mapping[str, Any] | None], Awaitable[None]]
"""Tells Slack whether a delivery is stored, perhaps with words for its author. Never raises."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery. `again`: Slack has sent it before."""

    event_id: str
    body: Mapping[str, Any]
    again: bool
    kind: Kind = "events_api"


class Deliveries:
    """The deliveries of one period of listening."""

    def __init__(self) -> None:
        self._arrived, self._waiting = anyio.create_memory_object_stream[Delivery](MOST_WAITING)
        self._pending: dict[str, list[Confirm]] = {}
        self._done = Recent[str, bool](DONE_REMEMBERED)
        self._failure: AuthFailed | None = None

    async def take(self, delivery: Delivery, confirm: Confirm) -> None:
        """A delivery has arrived. `confirm` is called once, now or after reading."""
        if delivery.event_id in self._done:
            await confirm(True, None)
        elif delivery.event_id in self._pending:
            self._pending[delivery.event_id].append(confirm)
        else:
            await self._keep(delivery, confirm)

    async def next(self) -> Delivery:
        """The next new delivery. Raises AuthFailed after `fail` was called."""
        try:
            return await self._waiting.receive()
        except anyio.EndOfStream:
            if self._failure is None:
                raise
            raise self._failure from None

    async def acknowledge(self, delivery: Delivery, words: Mapping[str, Any] | None = None) -> None:
        """Confirm a stored delivery to Slack, as often as Slack has sent it. Slack repeats it if the confirmation is
        lost.
        """
        self._done.keep(delivery.event_id, True)
        for confirm in self._pending.pop(delivery.event_id, ()):
            await confirm(True, words)

    async def leave(self, delivery: Delivery) -> None:
        """The delivery is not stored: Slack shall send it again."""
        for confirm in self._pending.pop(delivery.event_id, ()):
            await confirm(False, None)

    def fail(self, failure: AuthFailed | None) -> None:
        """No more deliveries come."""
        self._failure = failure
        self._arrived.close()

    async def close(self) -> None:
        """Stop reading; unread deliveries are left to Slack."""
        self._arrived.close()
        self._waiting.close()
        left, self._pending = self._pending, {}
        for confirms in left.values():
            for confirm in confirms:
                await confirm(False, None)

    async def _keep(self, delivery: Delivery, confirm: Confirm) -> None:
        self._pending[delivery.event_id] = [confirm]
        try:
            self._arrived.send_nowait(delivery)
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            _log.warning("Too much of Slack's waits; something is left for later", extra={"waiting": MOST_WAITING})
            await self.leave(delivery)


def message_id(event: Mapping[str, Any]) -> str:
    """The id of the delivery of a message: the same when it is delivered and when it is read from history."""
    return f"message:{event.get('channel')}:{event.get('ts')}"


def delivery_of(kind: str, body: Mapping[str, Any], *, again: bool) -> Delivery | None:
    """A payload as a delivery; None for one without an id, of an unknown kind, or of a form that is not understood.

    Presses, commands and forms have no event id. A trigger id is made for each of them.
    """
    try:
        return _delivery_of(kind, body, again=again)
    except NOT_UNDERSTOOD as error:
        _log.warning("A delivery of Slack's is not understood and is ignored", extra={"error": repr(error)})
        return None


def _delivery_of(kind: str, body: Mapping[str, Any], *, again: bool) -> Delivery | None:
    match kind:
        case "events_api":
            event, event_id = body.get("event"), body.get("event_id")
            if isinstance(event, Mapping) and is_said(event):
                event_id = message_id(event)
            return Delivery(event_id, body, again) if isinstance(event_id, str) else None
        case "slash_commands" | "interactive":
            view = body.get("view")
            trigger = body.get("trigger_id") or (view.get("id") if isinstance(view, Mapping) else None)
            event_id = f"{body.get('type', 'command')}:{trigger}"
            return Delivery(event_id, body, again, kind) if isinstance(trigger, str) else None
        case _:
            return None
