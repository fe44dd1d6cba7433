"""Our marks on people's messages: the newest of a message wins, one call at a time, within the platform's limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from anyio.abc import TaskGroup

from adapters.adapter import Adapter, CanReact, CountsByMethod
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.recent import Recent
from runtime.core.address import Address
from runtime.core.errors import AdapterError
from runtime.core.message import Mark

REFUSING_MAX = 1000
"""The number of remembered conversations that refused a reaction. Chosen."""

OnDone = Callable[[bool], None]
"""Hears that the newest mark of a message was set or refused (True), or could not be tried (False)."""

OnRefused = Callable[[Address, Mark | None], None]
"""Hears that a conversation refused a mark, so that words can replace it."""


class Reactions:
    """The marks of one platform.

    In a conversation they have a bucket of their own, as large as that of its texts, so that no mark waits for text;
    when texts have to pause, marks pause as well.
    """

    def __init__(self, adapter: Adapter, scheduler: EditScheduler, tasks: TaskGroup) -> None:
        self._adapter = adapter
        self._scheduler = scheduler
        self._tasks = tasks
        self._reactor = adapter if adapter.capabilities.reactions and isinstance(adapter, CanReact) else None
        self._wanted: dict[tuple[str, str], Mark | None] = {}
        self._waiting: dict[tuple[str, str], list[OnDone]] = {}
        self._refusing = Recent[str, bool](REFUSING_MAX)

    def put(self, address: Address, message: str, mark: Mark | None, on_refused: OnRefused, on_done: OnDone, /) -> bool:
        """Set or remove our mark on a message; never blocks.

        False where marks are impossible: on this platform, or in a conversation that refused one before.
        """
        if self._reactor is None or address.key in self._refusing:
            return False
        key = (address.key, message)
        shows = key in self._wanted
        self._wanted[key] = mark
        self._waiting.setdefault(key, []).append(on_done)
        if not shows:
            self._tasks.start_soon(self._show, self._reactor, address, message, on_refused)
        return True

    async def _show(self, reactor: CanReact, address: Address, message: str, on_refused: OnRefused) -> None:
        key = (address.key, message)
        shown: list[Mark | None] = []
        kept = False

        async def call() -> None:
            mark = self._wanted[key]
            await reactor.react(address, message, mark)
            shown[:] = [mark]

        try:
            with suppress(AdapterError):  # the message is gone, or our token: a mark that is missing harms nobody
                while shown != [self._wanted[key]]:
                    if not await self._make(address, call):
                        self._refuse(address)
                        on_refused(address, self._wanted[key])
                        break
                kept = True
        finally:
            del self._wanted[key]
            for on_done in self._waiting.pop(key):
                on_done(kept)

    async def _make(self, address: Address, call: Callable[[], Awaitable[None]]) -> bool:
        adapter = self._adapter
        key, budget = adapter.budget(address)
        draws = adapter.draws(address, "react") if isinstance(adapter, CountsByMethod) else None
        if not self._scheduler.paused(key, budget):
            key = f"{key}:marks"
        return await self._scheduler.make(key, budget, call, draws=draws)

    def _refuse(self, address: Address) -> None:
        self._refusing.keep(address.key, True)
