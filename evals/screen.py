"""What people see of a run: an outbox that keeps the text of each message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from evals.models import Meter
from evals.record import Happening, Shown
from runtime.channels.outbox import Done, LivePage, PageRecord, PageSpec, unheard
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.message import Mark


@dataclass(eq=False)
class Screen:
    """Implements `runtime.channels.outbox.Outbox`. `shown` are the messages in their order.

    `crowded` is called when there are more of them than `most`.
    """

    meter: Meter
    most: int
    crowded: Callable[[], None]
    tasks: TaskGroup | None = None
    """In which calls are answered."""
    line: int = 0
    """How many lines people have said."""
    shown: list[Shown] = field(default_factory=list)

    @property
    def chars(self) -> int:
        """Characters that agents have shown."""
        return sum(len(shown.text) for shown in self.shown if shown.speaker != GATEWAY.name)

    def page(self, spec: PageSpec, _record: PageRecord, /) -> LivePage:
        """See `Outbox`."""
        return _Page(self, spec)

    def begin(self, spec: PageSpec) -> Shown:
        """A message has its first character."""
        shown = Shown(spec.speaker.name, "", self.line)
        self.shown.append(shown)
        if len(self.shown) > self.most:
            self.crowded()
        return shown

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        """See `Outbox`; it is not shown."""

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """See `Outbox`; there are no marks."""
        self._answer(done)
        return True

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """See `Outbox`; there is one place for all."""
        return None

    async def link(self, _to: Address, /) -> str | None:
        """See `Outbox`; there is nothing to lead to."""
        return None

    def settle(self, _page: PageSpec, _text: str, _chosen: str, /, *, done: Done = unheard) -> None:
        """See `Outbox`; what was shown stays."""
        self._answer(done)

    def _answer(self, done: Done) -> None:
        assert self.tasks is not None
        self.tasks.start_soon(_say_so, done)


async def _say_so(done: Done) -> None:
    done(True)


class _Page:
    def __init__(self, screen: Screen, spec: PageSpec) -> None:
        self._screen = screen
        self._spec = spec
        self._shown: Shown | None = None

    def update(self, text: str, /) -> None:
        """See `LivePage`."""
        if not text.strip():
            return
        if self._shown is None:
            self._shown = self._screen.begin(self._spec)
        new = len(text) - len(self._shown.text)
        self._shown.text = text
        if self._spec.speaker != GATEWAY:
            self._screen.meter.seen(new)

    def ends(self) -> None:
        """See `LivePage`; nothing is opened beside it."""

    async def finish(self, text: str, /) -> bool:
        """See `LivePage`."""
        self.update(text)
        labels = [f"[{choice.label}]" for choice in self._spec.choices if not choice.free]
        if labels and self._shown is not None:
            self._shown.text = f"{text}\n{' '.join(labels)}"
        if self._shown is not None:
            self._screen.meter.course.append(Happening("shown", f"{self._shown.speaker}: {self._shown.text}"))
        return True

    async def rest(self) -> None:
        """See `LivePage`; nothing is on its way."""

    def abandon(self) -> None:
        """See `LivePage`; what was shown stays."""
