"""Messages that people see in a talk: an outbox that keeps each one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.talks.staging.record import SeenMessage
from runtime.channels.outbox import LivePage, PageRecord, PageSpec, TextsAlone


@dataclass(eq=False)
class Screen(TextsAlone):
    """Implements `runtime.channels.outbox.Outbox`. `on_message` hears of each message when it begins."""

    on_message: Callable[[SeenMessage], None]
    offered: list[SeenMessage] = field(default_factory=list)
    """The messages with choices, the newest last."""
    _opened: int = 0

    def page(self, spec: PageSpec, _record: PageRecord, /) -> LivePage:
        """See `Outbox`. Messages stand in the order in which their pages were opened."""
        self._opened += 1
        return _Page(self, spec, self._opened)


class _Page:
    def __init__(self, screen: Screen, spec: PageSpec, place: int) -> None:
        self._screen = screen
        self._place = place
        self._spec = spec
        self._shown: SeenMessage | None = None

    def update(self, text: str, /) -> None:
        if self._shown is None and (text.strip() or self._spec.file is not None):
            self._shown = SeenMessage(self._spec.speaker.name, place=self._place)
            self._screen.on_message(self._shown)
        if self._shown is not None:
            self._shown.text = text

    def ends(self) -> None:
        """See `LivePage`; nothing is opened beside it."""

    async def finish(self, text: str, /) -> bool:
        self.update(text)
        if self._shown is not None and self._spec.file is not None:
            self._shown.text = f"{text}\n[{self._spec.file.name}]".strip()
        choices = {choice.label: choice.id for choice in self._spec.choices if not choice.free}
        if choices and self._shown is not None:
            self._shown.choices = choices
            self._screen.offered.append(self._shown)
        return True

    async def rest(self) -> None:
        """See `LivePage`; nothing is on its way."""

    def abandon(self) -> None:
        """See `LivePage`; what was shown stays."""
