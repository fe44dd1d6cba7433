"""The record of what people see of a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from msgspec import Struct

from runtime.bus import Bus
from runtime.channels.outbox import LivePage
from runtime.core.address import Address
from runtime.core.errors import NotDelivered
from runtime.events.talk import PageOpened, PageSent
from runtime.tape.facts.people import PageGrew, PartOpening, PartSent
from runtime.tape.journal import Journal
from runtime.tape.state.people import PageState


class UnseenPage(LivePage):
    """A page that begins when nothing is shown: the session's next process shows it."""

    async def finish(self, _text: str, /) -> bool:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


class JournalRecord(Struct, eq=False):
    """`has_it` is awaited once the platform has something of it, before that counts as shown."""

    _journal: Journal
    _page: PageState
    _address: Address
    _bus: Bus
    _has_it: Callable[[], Awaitable[None]] | None = None

    async def opening(self, part: int, text: str, /) -> None:
        self._require_page()
        self._journal.note(PartOpening(self._page.id, part, text))
        await self._journal.commit()
        self._require_page()
        self._bus.publish(PageOpened(*self._place, part, self._address.platform))

    async def grows(self, text: str, /) -> None:
        known = self._page.stands
        if known.startswith(text):
            return
        at = len(known) if text.startswith(known) else 0
        self._journal.note(PageGrew(self._page.id, at, text[at:]))
        await self._journal.commit()

    async def sent(self, part: int, platform_id: str, /) -> None:
        self._journal.note(PartSent(self._page.id, part, platform_id))
        await self._journal.commit()  # a death before it has the page sent twice where a platform knows no nonces
        if self._has_it is not None:
            await self._has_it()
        self._bus.publish(PageSent(*self._place, part, self._address.platform))

    def _require_page(self) -> None:
        if self._page.id not in self._journal.state.pages:
            raise NotDelivered(f"page {self._page.id} was closed before anything of it was shown")

    @property
    def _place(self) -> tuple[str, str, str]:
        return self._journal.session, self._page.id, self._page.frame
