"""What people see of a run: an outbox that keeps the text of each message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evals.models import Meter
from evals.record import Happening, Shown
from runtime.channels.outbox import LivePage, TextsAlone
from runtime.core.address import GATEWAY
from runtime.core.page import PageRecord, PageSpec


@dataclass(eq=False)
class Screen(TextsAlone):
    """Implements `runtime.channels.outbox.Outbox`. `shown` are the messages in their order.

    `crowded` is called when there are more of them than `most`.
    """

    meter: Meter
    most: int
    crowded: Callable[[], None]
    line: int = 0
    """How many lines people have said."""
    shown: list[Shown] = field(default_factory=list)

    @property
    def chars(self) -> int:
        """Characters that agents have shown."""
        return sum(len(shown.text) for shown in self.shown if shown.speaker != GATEWAY.name)

    def page(self, spec: PageSpec, _record: PageRecord, /) -> LivePage:
        return _Page(self, spec)

    def begin(self, spec: PageSpec) -> Shown:
        """A message has its first character."""
        shown = Shown(spec.speaker.name, "", self.line)
        self.shown.append(shown)
        if len(self.shown) > self.most:
            self.crowded()
        return shown


class _Page(LivePage):
    def __init__(self, screen: Screen, spec: PageSpec) -> None:
        self._screen = screen
        self._spec = spec
        self._shown: Shown | None = None

    def update(self, text: str, /) -> None:
        if not text.strip():
            return
        if self._shown is None:
            self._shown = self._screen.begin(self._spec)
        new = len(text) - len(self._shown.text)
        self._shown.text = text
        if self._spec.speaker != GATEWAY:
            self._screen.meter.seen(new)

    async def finish(self, text: str, /) -> bool:
        self.update(text)
        labels = [f"[{choice.label}]" for choice in self._spec.choices if not choice.free]
        if labels and self._shown is not None:
            self._shown.text = f"{text}\n{' '.join(labels)}"
        if self._shown is not None:
            self._screen.meter.course.append(Happening("shown", f"{self._shown.speaker}: {self._shown.text}"))
        return True
