"""How long people wait for the first visible text after what they wrote."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from runtime.bus import Bus
from runtime.events.talk import MessageAdmitted, MessageReceived, PageSent

MAX_ANSWERS = 10_000
"""The number of messages whose first answer is awaited; the oldest are forgotten first."""


class FirstTexts:
    """Tells each wait: the conversation, the seconds, and when the text came."""

    def __init__(self, tell: Callable[[str, float, datetime], None]) -> None:
        self._tell = tell
        self._came: dict[str, datetime] = {}
        self._unanswered: dict[str, tuple[str, datetime]] = {}

    def attach(self, bus: Bus) -> Callable[[], None]:
        """Follow the bus until the returned function is called."""
        forget = (
            bus.hear(MessageAdmitted, self._admitted),
            bus.hear(MessageReceived, self._received),
            bus.hear(PageSent, self._visible),
        )

        def detach() -> None:
            for one in forget:
                one()

        return detach

    def _admitted(self, what: MessageAdmitted, at: datetime) -> None:
        _remember(self._came, what.message_id, at)

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
    if len(remembered) >= MAX_ANSWERS:
        del remembered[next(iter(remembered))]
    remembered[key] = value
