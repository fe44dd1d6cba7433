"""An outbox without readers: it shows nothing, and is done with everything at once."""

from __future__ import annotations

import anyio

from runtime.channels.outbox import Done, LivePage, unheard
from runtime.core.address import Address, Speaker
from runtime.core.message import Mark
from runtime.core.page import PageRecord, PageSpec


class Unseen(LivePage):
    """A page that nobody looks at."""

    def __init__(self, spec: PageSpec) -> None:
        self.spec = spec


class Nobody:
    """Nobody looks."""

    def page(self, spec: PageSpec, _record: PageRecord, /) -> Unseen:
        return Unseen(spec)

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        """Not shown."""

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """Not shown."""
        return False

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """There are none."""
        return None

    async def private_with(self, _to: Address, _person: str, /) -> Address | None:
        return None

    async def link(self, _to: Address, /) -> str | None:
        """There are none."""
        return None

    def settle(self, _page: PageSpec, _text: str, _chosen: str, /, *, done: Done = unheard) -> None:
        """Not shown."""


class Awaiting(Nobody):
    """Nobody looks, but the first answer is waited for."""

    def __init__(self) -> None:
        self.answered = anyio.Event()

    def page(self, spec: PageSpec, _record: PageRecord, /) -> Unseen:
        return _Awaited(spec, self.answered)


class _Awaited(Unseen):
    def __init__(self, spec: PageSpec, answered: anyio.Event) -> None:
        super().__init__(spec)
        self._answered = answered

    async def finish(self, _text: str, /) -> bool:
        self._answered.set()
        return True
