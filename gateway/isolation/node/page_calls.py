"""Answers to the calls by which the process of a task shows pages: where its orderer's people are, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.isolation.forms import ADDRESS, MARK, PAGE, SPEAKER
from gateway.isolation.peer import Handler, Peer
from runtime.channels.outbox import LivePage, Outbox, PageSpec
from runtime.core.address import Address
from runtime.core.errors import TaskRefused
from runtime.core.ids import SessionId

MAX_PAGES = 64
"""The number of pages that a task may have open at once."""


class PageCalls:
    """The pages of one task. `peer` is its process, which keeps on the tape what becomes visible."""

    def __init__(self, outbox: Outbox, session: SessionId, place: Address, own: Address) -> None:
        """People see the task at `place`; `own` is its address."""
        self._outbox = outbox
        self._session = session
        self._place = place
        self._own = own
        self._live: dict[str, LivePage] = {}
        self.peer: Peer

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        calls = (self.page, self.update, self.ends, self.finish, self.rest, self.abandon)
        return {call.__name__: call for call in (*calls, self.thinking, self.mark, self.settle)}

    def let_go(self) -> None:
        """Show nothing more: the process has gone."""
        for live in self._live.values():
            live.abandon()
        self._live.clear()

    async def page(self, data: Any) -> None:
        spec = self._spec(data)
        if len(self._live) >= MAX_PAGES:
            raise TaskRefused(f"A task has at most {MAX_PAGES} pages open.")
        if spec.id not in self._live:
            self._live[spec.id] = self._outbox.page(spec, _RemoteRecord(self.peer, spec.id))

    async def update(self, data: Any) -> None:
        page, text = data
        self._page(page).update(str(text))

    async def ends(self, data: Any) -> None:
        self._page(data).ends()

    async def finish(self, data: Any) -> bool:
        page, text = data
        try:
            return await self._page(page).finish(str(text))
        finally:
            self._live.pop(page, None)

    async def rest(self, data: Any) -> None:
        await self._page(data).rest()

    async def abandon(self, data: Any) -> None:
        live = self._live.pop(str(data), None)
        if live is not None:
            live.abandon()

    async def thinking(self, data: Any) -> None:
        address, speaker, active, doing = data
        self._outbox.thinking(self._checked(address), SPEAKER.read(speaker), bool(active), doing=doing)

    async def mark(self, data: Any) -> None:
        address, message, mark = data
        self._outbox.mark(self._checked(address), str(message), MARK.read(mark))

    async def settle(self, data: Any) -> None:
        spec, text, chosen = data
        self._outbox.settle(self._spec(spec), str(text), str(chosen))

    def _page(self, page: object) -> LivePage:
        live = self._live.get(str(page))
        if live is None:
            raise TaskRefused("There is no such page.")
        return live

    def _checked(self, data: Any) -> Address:
        address = ADDRESS.read(data)
        if address not in (self._place, self._own):
            raise TaskRefused(f"People do not see this task at {address.key[:200]}.")
        return address

    def _spec(self, data: Any) -> PageSpec:
        spec = PAGE.read(data)
        self._checked(ADDRESS.write(spec.address))
        if not spec.id.startswith(f"{self._session}.") or spec.file is not None:
            raise TaskRefused("A task shows its own pages, without files.")
        if not spec.leased or spec.home not in (None, self._own):
            raise TaskRefused("A task's pages are shown while its node has the shard.")
        return spec


class _RemoteRecord:
    """Keeps what becomes visible of a page, where its session is."""

    def __init__(self, peer: Peer, page: str) -> None:
        self._peer = peer
        self._page = page

    async def opening(self, part: int, text: str, /) -> None:
        await self._peer.call("page_opening", [self._page, part, text])

    async def grows(self, text: str, /) -> None:
        await self._peer.call("page_grows", [self._page, text])

    async def sent(self, part: int, platform_id: str, /) -> None:
        await self._peer.call("page_sent", [self._page, part, platform_id])
