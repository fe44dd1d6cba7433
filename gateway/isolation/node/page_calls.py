"""Answers to the calls by which the process of a task shows pages: where its orderer's people are, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.isolation.forms import ADDRESS, MARK, PAGE, SPEAKER
from gateway.isolation.node.approvals import Approvals
from gateway.isolation.node.rights import Rights
from gateway.isolation.peer import Handler, Peer
from runtime.channels.outbox import LivePage, Outbox, PageSpec
from runtime.core.address import Address
from runtime.core.errors import TaskRefused

MAX_PAGES = 64
"""The number of pages that a task may have open at once."""


class PageCalls:
    """The pages of one task. `peer` is its process, which keeps on the tape what becomes visible."""

    def __init__(self, outbox: Outbox, rights: Rights, told: Address | None = None) -> None:
        """`told` is where its program says that people see what an event of another program began."""
        self._told = told if rights.order.event else None
        self._outbox = outbox
        self._rights = rights
        self._records: dict[str, _RemoteRecord] = {}
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
        self._records.clear()

    async def page(self, data: Any) -> None:
        spec = self._spec(data)
        if len(self._live) >= MAX_PAGES:
            raise TaskRefused(f"A task has at most {MAX_PAGES} pages open.")
        if spec.id not in self._live:
            record = self._records[spec.id] = _RemoteRecord(self.peer, spec, self._rights.approvals)
            self._live[spec.id] = self._outbox.page(spec, record)

    async def update(self, data: Any) -> None:
        page, text = data
        self._page(page).update(str(text))

    async def ends(self, data: Any) -> None:
        self._page(data).ends()

    async def finish(self, data: Any) -> bool:
        page, text = data
        live = self._page(page)
        try:
            self._records[page].finishes(str(text))
            return await live.finish(str(text))
        finally:
            self._forget(page)

    async def rest(self, data: Any) -> None:
        await self._page(data).rest()

    async def abandon(self, data: Any) -> None:
        live = self._live.get(str(data))
        self._forget(str(data))
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

    def _forget(self, page: str) -> None:
        self._live.pop(page, None)
        self._records.pop(page, None)

    def _page(self, page: object) -> LivePage:
        live = self._live.get(str(page))
        if live is None:
            raise TaskRefused("There is no such page.")
        return live

    def _checked(self, data: Any) -> Address:
        address = ADDRESS.read(data)
        if address not in (self._rights.order.place, self._rights.address, self._told):
            raise TaskRefused(f"People do not see this task at {address.key[:200]}.")
        return address

    def _spec(self, data: Any) -> PageSpec:
        spec = PAGE.read(data)
        self._checked(ADDRESS.write(spec.address))
        files = {*self._rights.files, None}
        if not spec.id.startswith(f"{self._rights.session}.") or (spec.file and spec.file.url) not in files:
            raise TaskRefused("A task shows its own pages, with its own files.")
        if not spec.leased or spec.home not in (None, self._rights.address):
            raise TaskRefused("A task's pages are shown while its node has the shard.")
        return spec


class _RemoteRecord:
    """Keeps what becomes visible of a page, where its session is. A question becomes visible as it is on the tape."""

    def __init__(self, peer: Peer, spec: PageSpec, approvals: Approvals) -> None:
        self._peer = peer
        self._spec = spec
        self._approvals = approvals
        self._number = spec.id.rpartition(".")[2]
        self._opened = bool(spec.parts)
        self._text: str | None = None

    def finishes(self, text: str) -> None:
        """The page becomes this text, with its choices. Raises TaskRefused."""
        self._text = text
        if self._opened:
            self._check()

    async def opening(self, part: int, text: str, /) -> None:
        await self._peer.call("page_opening", [self._spec.id, part, text])
        self._opened = True
        self._check()  # its question is on the tape by now

    async def grows(self, text: str, /) -> None:
        await self._peer.call("page_grows", [self._spec.id, text])

    async def sent(self, part: int, platform_id: str, /) -> None:
        self._approvals.sent(self._number, platform_id)
        await self._peer.call("page_sent", [self._spec.id, part, platform_id])

    def _check(self) -> None:
        if self._text is not None:
            self._approvals.check_shown(self._number, self._text, self._spec.choices)
