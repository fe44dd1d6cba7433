"""Shows pages on a platform: streams, one message that grows by edits, drafts, more messages when the text is long, or
one final post. What people see of a part by edits is always well-formed Markdown.
"""

from __future__ import annotations

from functools import partial

from anyio.abc import TaskGroup
from msgspec.structs import replace

from adapters.adapter import Adapter, CanOpenThread
from adapters.capabilities import measure_of
from adapters.markdown.mentions import with_mentions
from adapters.markdown.paging import PageRoom, cut_pages
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.platform_context import FileSource, OnVisible, PlatformContext, fit, shown
from runtime.core.address import GATEWAY, Address
from runtime.core.clock import Clock
from runtime.core.page import PageRecord, PageSpec
from runtime.events.happening import Tell, unheard


class PagePresenter:
    """All pages of one platform. Pages of a conversation get their first messages in the order of opening.

    `tasks` is where it waits until a draft or a stream has to be renewed; `file_source` has the files.
    """

    def __init__(
        self,
        adapter: Adapter,
        scheduler: EditScheduler,
        clock: Clock,
        *,
        on_event: Tell = unheard,
        tasks: TaskGroup | None = None,
        file_source: FileSource | None = None,
    ) -> None:
        self.adapter = adapter
        self._stage = PlatformContext(adapter, scheduler, clock, on_event, tasks, file_source or FileSource())

    def page(self, spec: PageSpec, record: PageRecord) -> Page:
        """A page. Its parts that are already on the platform are edited and never sent again."""
        spec = replace(spec, choices=shown(spec.choices, self.adapter.capabilities))
        begins = 0 not in spec.parts
        page = Page(self._stage, spec, record, held=begins and self._stage.is_busy(spec.address))
        self._stage.enter(page, begins=begins)
        return page

    def on_visible(self, hear: OnVisible) -> None:
        """Call the function whenever a part of an answer has become visible."""
        self._stage.heard.append(hear)

    async def open_thread(self, to: Address, title: str, nonce: str) -> Address | None:
        """Open a conversation beside another, in its turn; None if that is impossible. Raises AdapterError."""
        adapter, found = self.adapter, list[Address | None]()
        if not isinstance(adapter, CanOpenThread):
            return None

        async def call() -> None:
            found.append(await adapter.open_thread(to, title, nonce=nonce))

        key, budget = adapter.budget(to)
        await self._stage.scheduler.make(
            key, budget, call, draws=self._stage.draws(PageSpec(nonce, to, GATEWAY), "send")
        )
        return found[-1] if found else None

    async def settle(self, spec: PageSpec, text: str, chosen: str) -> None:
        """Put the text `chosen` in the place of a shown page's choices, in its turn. Raises AdapterError."""
        offerer, limits, choices = self._stage.offerer, self.adapter.capabilities, spec.choices
        if offerer is None or not spec.parts or not fit(choices, limits) or len(shown(choices, limits)) < len(choices):
            return
        said = with_mentions(text, spec.people)
        number, message = max(spec.parts.items())
        last = self._text_of_last(number, said)
        with_chosen = f"{last}\n\n{chosen}" if chosen else last
        has_room = measure_of(limits.text_unit)(with_chosen) <= limits.max_text
        call = partial(
            offerer.offer,
            spec.address,
            message,
            with_chosen if has_room else last,
            (),
            speaker=spec.speaker,
            nonce=f"{spec.id}.{number}",
        )
        key, budget = self.adapter.budget(spec.address)
        self._stage.remind(spec, number, message)
        await self._stage.scheduler.make(key, budget, call, draws=self._stage.draws(spec, "offer"))

    def _text_of_last(self, number: int, said: str) -> str:
        """The text of a page's last message, which has this number. Streams hold more than other messages."""
        limits, stream = self.adapter.capabilities, self._stage.stream_limits
        measure, wide = measure_of(limits.text_unit), limits.max_text if stream is None else stream.max_text
        streamed = cut_pages(said, wide, measure, max_pieces=limits.max_pieces)
        if len(streamed) == number + 1:
            return streamed[-1].text
        rooms = {number: PageRoom(wide)}
        cuts = cut_pages(said, limits.max_text, measure, rooms, max_pieces=limits.max_pieces)
        return cuts[min(number, len(cuts) - 1)].text if cuts else said
