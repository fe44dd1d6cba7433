"""The part of an outbox that is the same wherever nothing but texts is shown."""

from __future__ import annotations

from dataclasses import dataclass

from anyio.abc import TaskGroup

from runtime.channels.outbox import Done, PageSpec, unheard
from runtime.core.address import Address, Speaker
from runtime.core.message import Mark


@dataclass(eq=False, kw_only=True)
class TextsAlone:
    """All of `Outbox` but its pages, where there are no signs, marks, threads and links. `tasks` answers calls."""

    tasks: TaskGroup | None = None

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        """See `Outbox`; it is not shown."""

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """See `Outbox`; there are no marks."""
        self._answer(done)
        return True

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """See `Outbox`; there is one place for all."""
        return None

    async def private_with(self, _to: Address, _person: str, /) -> Address | None:
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
