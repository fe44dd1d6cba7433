"""Answers for one person of a conversation, which everybody reads where the platform cannot show them to one."""

from __future__ import annotations

import logging
from collections.abc import Callable

from adapters.pages.presenter import Presenter
from runtime.channels.outbox import LivePage, PageSpec
from runtime.core.address import Address
from runtime.core.errors import AdapterError

_log = logging.getLogger("adapters.outbound")


class AnswerPage:
    """A page whose last text one person sees, who has asked for it; nobody sees it before. A crash between its being
    shown and its being noted shows it again."""

    def __init__(self, presenter: Presenter, spec: PageSpec, openly: Callable[[], LivePage]) -> None:
        """`openly` makes the page that everybody sees."""
        self._presenter = presenter
        self._spec = spec
        self._openly = openly
        self._page: LivePage | None = None
        self._over = False

    def update(self, text: str, /) -> None:
        """It is shown as a whole."""

    def ends(self) -> None:
        """Nothing waits for it."""

    async def finish(self, text: str, /) -> bool:
        spec = self._spec
        if self._over:
            return False
        if self._page is None and await answered_alone(self._presenter, spec.address, spec.alone, text):
            return True
        self._page = self._page or self._openly()
        return await self._page.finish(text)

    async def rest(self) -> None:
        if self._page is not None:
            await self._page.rest()

    def abandon(self) -> None:
        self._over = True
        if self._page is not None:
            self._page.abandon()


async def answered_alone(presenter: Presenter, address: Address, person_id: str, text: str) -> bool:
    """Answer one person so that the others do not see it; False where that cannot be done."""
    try:
        return await presenter.answer_alone(address, person_id, text)
    except AdapterError as error:
        _log.info("An answer for one person is said to everybody", extra={"error": str(error)})
        return False
