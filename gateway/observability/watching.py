"""What those who watch a node share: observers of its sessions, how long people wait for the first text, values that
are read when metrics are requested, and removing secrets from text that others will read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from msgspec import Struct

from runtime.bus import Bus
from runtime.events.talk import MessageAdmitted, MessageReceived, PageSent

MASK = "********"
_SHORTEST_SECRET = 6

SECRET_KEY = re.compile(r"token$|password|secret|api_key|authorization|cookie", re.IGNORECASE)
"""The names of secret values."""

_SECRET_TEXT = re.compile(r"(?<!\d)\d{6,}+:[\w-]{30,}|\bsk-[\w-]{8,}|(?<=://)[^/\s@]*(?=@)")
"""Telegram tokens, the usual keys of model providers, and logins inside URLs."""

_MAX_ANSWERS = 10_000
"""The number of messages whose first answer is awaited; the oldest are forgotten first."""


class SecretMasking:
    """Knows texts that must never be shown, and the usual forms of secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted((secret for secret in secrets if secret), key=len, reverse=True)

    def hide(self, secrets: Iterable[str]) -> None:
        """Hide more texts. One that is too short to be a secret stays visible, since hiding it would make lines
        unreadable.
        """
        more = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        self._secrets = sorted({*self._secrets, *more}, key=len, reverse=True)

    def masked(self, value: Any) -> str:
        text = str(value)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _SECRET_TEXT.sub(MASK, text)


class FirstTexts:
    """Tells each wait: the conversation, the seconds, and when the text came."""

    def __init__(self, tell: Callable[[str, float, datetime], None]) -> None:
        self._tell = tell
        self._came: dict[str, datetime] = {}
        self._unanswered: dict[str, tuple[str, datetime]] = {}

    def attach(self, bus: Bus) -> Callable[[], None]:
        """Follow the bus until the returned function is called."""
        followed = ExitStack()
        came = self._came
        followed.callback(bus.hear(MessageAdmitted, lambda what, at: _remember(came, what.message_id, at)))
        followed.callback(bus.hear(MessageReceived, self._received))
        followed.callback(bus.hear(PageSent, self._visible))
        return followed.close

    def _received(self, what: MessageReceived, at: datetime) -> None:
        came = self._came.pop(what.message_id, at)
        if what.session_id not in self._unanswered:
            _remember(self._unanswered, what.session_id, (what.conversation, came))

    def _visible(self, what: PageSent, at: datetime) -> None:
        asked = self._unanswered.pop(what.session_id, None)
        if asked is not None:
            conversation, came = asked
            self._tell(conversation, max(0.0, (at - came).total_seconds()), at)


def _remember(remembered: dict[str, Any], key: str, value: Any) -> None:
    if len(remembered) >= _MAX_ANSWERS:
        del remembered[next(iter(remembered))]
    remembered[key] = value


class NodeGauges(Struct, frozen=True):
    """The sources of current values. `waiting` gives the events in inboxes and the pages in outboxes of shards."""

    shards: Callable[[], Collection[int]]
    conversations: Callable[[], int]
    at_work: Callable[[], int]
    sandbox_busy: Callable[[], int]
    sandbox_workers: Callable[[], int]
    sandbox_jailed: Callable[[], bool]
    waiting: Callable[[Collection[int]], Awaitable[tuple[int, int]]]
