"""The port for what people should see: pages, each with an id, until a platform has them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from anyio.abc import TaskGroup

from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError
from runtime.core.message import Mark
from runtime.core.page import PageRecord, PageSpec

Done = Callable[[bool], None]
"""Hears, once and later, how a call that nobody waits for ended: True when there is nothing left to do for it, False
where it could not be tried now, so that whoever wants it asks again after a restart."""


def unheard(_kept: bool, /) -> None:
    """Nobody wants to know."""


class _Unrecorded(PageRecord):
    """For what may be lost in a crash."""


UNRECORDED = _Unrecorded()


class LivePage(Protocol):
    """A page on its way to people's eyes; by default, one that nobody sees."""

    def update(self, _text: str, /) -> None:
        """The whole text so far; the newest wins, never blocks."""
        return

    def ends(self) -> None:
        """Its last text comes soon: pages that are opened from now on begin when all of it is there."""
        return

    async def finish(self, _text: str, /) -> bool:
        """Return when the platform shows exactly this text in its final form; waits out every cool-down.

        False when the platform refuses it for good. Raises AdapterError when it cannot be tried now.
        """
        return True

    async def rest(self) -> None:
        """Show nothing more from now on; return when a call that is on its way was answered and written down."""
        return

    def abandon(self) -> None:
        """Stop showing anything more of this page; what is visible stays."""
        return


class QuietPage(LivePage):
    """A page that nobody sees. What shows a page in another way, at once, overrides what it needs."""


class Outbox(Protocol):
    """Shows pages. Pages of one conversation appear in the order in which they were opened here."""

    def page(self, spec: PageSpec, record: PageRecord, /) -> LivePage: ...

    def thinking(self, address: Address, speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        """An agent works on an answer (typing indicator), or has stopped; `doing` says on what, in a few words."""
        return

    def mark(self, address: Address, message_id: str, mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """Put our mark on a person's message, or take it away; never blocks. Not kept: see `Done`.

        False when the platform has no marks: then who wants to say something says it in words.
        """

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """Open a conversation beside another for the same people; None where none is possible.

        The same nonce gets the same one where the platform makes that possible. Raises AdapterError when it cannot be
        tried now.
        """
        return None

    async def link(self, to: Address, /) -> str | None:
        """The address of a link that leads to a conversation; None where there is none now."""
        return None

    async def private_with(self, to: Address, person: str, /) -> Address | None:
        """The private conversation with one of the people of a conversation; None where there is none now."""
        return None

    def settle(self, page: PageSpec, text: str, chosen: str, /, *, done: Done = unheard) -> None:
        """The question of `page`, shown as `text`, is closed: the text `chosen` takes the place of its choices, where
        there is room. Never blocks; see `Done`.

        `page.choices` has the free one where there was one, and no others.
        """


async def show_once(outbox: Outbox, spec: PageSpec, text: str) -> None:
    """Show a text that belongs to no session; it may be lost in a crash."""
    with suppress(AdapterError):  # nobody can be told there, and nothing depends on it
        await outbox.page(spec, UNRECORDED).finish(text)


@dataclass(eq=False, kw_only=True)
class TextsAlone(Outbox):
    """All of `Outbox` but its pages, where there are no signs, marks, threads and links. `tasks` answers calls."""

    tasks: TaskGroup | None = None

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        self._answer(done)
        return True

    def settle(self, _page: PageSpec, _text: str, _chosen: str, /, *, done: Done = unheard) -> None:
        self._answer(done)

    def _answer(self, done: Done) -> None:
        assert self.tasks is not None
        self.tasks.start_soon(_say_so, done)


async def _say_so(done: Done) -> None:
    done(True)
