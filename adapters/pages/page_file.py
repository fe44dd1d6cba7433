"""The file of a page: its content, or the sentence that stands in its place."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.adapter import File
from adapters.markdown.paging import Cut
from adapters.pages.part import Line
from adapters.pages.platform_context import PlatformContext
from runtime.core.errors import NotDelivered

BESIDE_FILE_CHARS = 900
"""The longest text that is posted with its file, in characters; a caption takes 1024 units at least. Chosen."""


class PageFile:
    """The file. `trouble` says why it cannot be sent; None while it can, and for a page without one."""

    def __init__(self, stage: PlatformContext, spec: Line) -> None:
        self.trouble: str | None = None
        self._stage = stage
        self._spec = spec

    def number(self, cuts: Sequence[Cut]) -> int | None:
        """The number of the message that the file is: the first, with a short text beside it, else the one after the
        text.
        """
        if self._spec.extras.file is None or self.trouble is not None:
            return None
        beside = len(cuts) <= 1 and sum(len(cut.text) for cut in cuts) <= BESIDE_FILE_CHARS
        return 0 if beside else len(cuts)

    async def loaded(self) -> File | None:
        """The page's file; None after `trouble` was set."""
        wanted, most = self._spec.extras.file, self._stage.capabilities.max_file_bytes
        if wanted is None:
            return None
        trouble, file = "out.file_too_large", None
        if self._stage.uploader is None or self._stage.file_source.load is None:
            trouble = "out.file_impossible"
        elif wanted.size_bytes is None or wanted.size_bytes <= most:
            try:
                file = await self._stage.file_source.load(wanted)
            except NotDelivered:
                trouble = "out.file_lost"
        if file is None or len(file.data) > most:
            self.fail(trouble)
            return None
        return file

    def fail(self, key: str) -> None:
        """Give the file up; the text of this key says so."""
        file = self._spec.extras.file
        name = "" if file is None else file.name
        megabytes = self._stage.capabilities.max_file_bytes // 1_000_000
        self.trouble = self._stage.file_source.texts(key, name=name, megabytes=megabytes)
