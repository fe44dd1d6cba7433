"""The outbox of a task's process: its node shows the pages, and tells what became of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anyio.abc import TaskGroup

from gateway.isolation.forms import ADDRESS, MARK, PAGE, SPEAKER
from gateway.isolation.peer import Handler, Peer
from runtime.channels.outbox import Done, LivePage, PageRecord, PageSpec, unheard
from runtime.core.address import Address, Speaker
from runtime.core.background import OnDemand
from runtime.core.errors import AdapterError, StorageError
from runtime.core.message import Mark


class RemoteOutbox:
    """Implements `runtime.channels.outbox.Outbox`. What is not waited for is sent in `tasks`."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._records: dict[str, PageRecord] = {}
        self.peer: Peer

    def table(self) -> Mapping[str, Handler]:
        """What the node calls."""
        return {"page_opening": self._opening, "page_grows": self._grows, "page_sent": self._sent}

    def page(self, spec: PageSpec, record: PageRecord, /) -> LivePage:
        self._records[spec.id] = record
        return _RemotePage(self.peer, spec, self._tasks, lambda: self._records.pop(spec.id, None))

    def thinking(self, address: Address, speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        self._send("thinking", [ADDRESS.write(address), SPEAKER.write(speaker), active, doing])

    def mark(self, address: Address, message_id: str, mark: Mark | None, /, *, done: Done = unheard) -> bool:
        self._send("mark", [ADDRESS.write(address), message_id, MARK.write(mark)], done)
        return True

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """None: a task opens no conversation."""
        return None

    async def link(self, _to: Address, /) -> str | None:
        """None: a task leads nobody anywhere."""
        return None

    def settle(self, page: PageSpec, text: str, chosen: str, /, *, done: Done = unheard) -> None:
        self._send("settle", [PAGE.write(page), text, chosen], done)

    def _send(self, name: str, data: Any, done: Done = unheard) -> None:
        self._tasks.start_soon(_sent, self.peer.call, name, data, done)

    async def _opening(self, data: Any) -> None:
        page, part, text = data
        await self._records[page].opening(part, text)

    async def _grows(self, data: Any) -> None:
        page, text = data
        await self._records[page].grows(text)

    async def _sent(self, data: Any) -> None:
        page, part, platform_id = data
        await self._records[page].sent(part, platform_id)


async def _sent(call: Callable[..., Awaitable[Any]], name: str, data: Any, done: Done) -> None:
    """Send what nobody waits for. What cannot be sent is said again after a restart, if somebody wants it."""
    try:
        await call(name, data)
    except StorageError:
        done(False)
    else:
        done(True)


class _RemotePage:
    """A page that the node shows. Of texts that grow, the newest is sent when the last one has arrived."""

    def __init__(self, peer: Peer, spec: PageSpec, tasks: TaskGroup, forget: Callable[[], object]) -> None:
        self._peer = peer
        self._spec = spec
        self._forget = forget
        self._opened = self._over = self._ends = self._abandoned = False
        self._text: str | None = None
        self._growing = OnDemand(self._grow)
        self._growing.start(tasks)

    def update(self, text: str, /) -> None:
        self._text = text
        self._growing.wake()

    def ends(self) -> None:
        self._ends = True
        self._growing.wake()

    async def finish(self, text: str, /) -> bool:
        self._over = True
        try:
            await self._open()
            return bool(await self._peer.call("finish", [self._spec.id, text]))
        except StorageError as error:
            raise AdapterError(str(error)) from error
        finally:
            self._forget()

    async def rest(self) -> None:
        self._over = True
        if self._opened:
            await self._peer.call("rest", self._spec.id)

    def abandon(self) -> None:
        self._over = self._abandoned = True
        self._growing.wake()

    async def _open(self) -> None:
        if not self._opened:
            self._opened = True
            await self._peer.call("page", PAGE.write(self._spec))

    async def _grow(self) -> None:
        """Send what is new. A page that is over takes nothing more."""
        try:
            if not self._over:
                await self._open()
            if self._ends and not self._over:
                self._ends = False
                await self._peer.call("ends", self._spec.id)
            while self._text is not None and not self._over:
                text, self._text = self._text, None
                await self._peer.call("update", [self._spec.id, text])
            if self._abandoned and self._opened:
                await self._peer.call("abandon", self._spec.id)
        except StorageError:
            return  # the node has gone, or shows nothing more; who finishes the page learns of it
