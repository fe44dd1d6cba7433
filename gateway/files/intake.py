"""The intake of files that people send: fetched from their platform, kept in the store, read by a worker.

platform ──fetch──> store ──> worker ──> what a model is given of it ──> store
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.inbound.usage_limits import DAY_S, Counters
from gateway.outbound.file_source import Files
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, ContentLocked, NotDelivered
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, FileStore
from runtime.core.message import Attachment, FilePart
from runtime.core.texts import Texts
from runtime.files.reading import PICTURE_TYPE, TEXT_TYPE, FileReader, Remark
from runtime.sessions.inbound.received_files import TakenFile

PAUSES_S: Final = (1.0, 4.0)
"""The pauses before a file is asked for again, when its platform does not give it."""

_MIB: Final = 1024 * 1024
_TYPES: Final = {"image": PICTURE_TYPE, "text": TEXT_TYPE}


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """The number of files that are read of one message, of one conversation in a day, and of one person in a day, in
    all conversations; 0 is no limit of the day."""

    per_message: int = 10
    per_day: int = 200
    person_per_day: int = 0


class StoredFileIntake:
    """Implements `runtime.sessions.inbound.received_files.FileIntake` for the platforms of a node."""

    def __init__(  # noqa: PLR0913 - each is another part's
        self,
        files: Files,
        store: FileStore,
        reader: FileReader,
        counters: Counters,
        limits: IntakeLimits,
        texts: Callable[[str], Texts],
        clock: Clock,
    ) -> None:
        """`texts` are those of a platform."""
        self._files = files
        self._store = store
        self._reader = reader
        self._counters = counters
        self._limits = limits
        self._texts = texts
        self._clock = clock

    async def content(self, url: str, /) -> bytes | None:
        try:
            found = await self._store.content(url.removeprefix(FILE_URL))
        except ContentLocked:
            return None
        return None if found is None else found.data

    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        """See `FileIntake`. A file that is in the store already stays as it is there."""
        taken = []
        for number, file in enumerate(files[: self._limits.per_message]):
            refused = _too_large(file) or await self._too_many_today(address, person, f"{once}/{number}")
            if refused is not None:
                taken.append(self._refused(address, file, refused))
            else:
                taken.append(await self._taken(address, file, person or None))
        return taken + self._beyond(address, files[self._limits.per_message :])

    def _beyond(self, address: Address, files: Sequence[Attachment]) -> list[TakenFile]:
        """The files that are too many in one message, all named in one sentence."""
        if not files:
            return []
        names = ", ".join(file.name for file in files)
        said = self._texts(address.platform)("files.too_many", limit=self._limits.per_message, names=names)
        taken = [TakenFile(replace(file, parts=(), note=said)) for file in files]
        return [replace(taken[0], remarks=(said,)), *taken[1:]]

    async def _too_many_today(self, address: Address, person: str, once: str) -> Remark | None:
        own, now_s = self._limits, self._clock.now().timestamp()
        hours = math.ceil((DAY_S - now_s % DAY_S) / 3600)
        for whose, limit, key in (
            (person, own.person_per_day if person else 0, "too_many_of_yours"),
            (address.key, own.per_day, "too_many_today"),
        ):
            name = f"files:{whose}:{int(now_s // DAY_S)}"
            told = f"{whose}/{address.key}/{once}"
            if limit and await self._counters.add(name, 1, once=told, ttl_s=2 * DAY_S) > limit:
                return Remark(key, {"limit": limit, "hours": hours})
        return None

    async def _taken(self, address: Address, file: Attachment, person: str | None) -> TakenFile:
        data = await self._fetched(address, file)
        if isinstance(data, Remark):
            return self._refused(address, file, data)
        read = await self._reader.read(data, file.media_type)
        url = file.url
        if not url.startswith(FILE_URL):
            url = FILE_URL + await self._store.keep(data, read.media_type, person=person, conversation=address.key)
        parts = []
        for part in read.parts:
            media_type = _TYPES[part.kind]
            id_ = await self._store.keep(part.data, media_type, person=person, conversation=address.key)
            parts.append(FilePart(part.kind, FILE_URL + id_, len(part.data), part.page))
        said = tuple(self._sentence(address, file, remark) for remark in read.remarks)
        known = replace(file, media_type=read.media_type, url=url, size_bytes=len(data))
        return TakenFile(replace(known, parts=tuple(parts), note=" ".join(said)), said, read.seconds)

    async def _fetched(self, address: Address, file: Attachment) -> bytes | Remark:
        for pause_s in (*PAUSES_S, None):
            try:
                return await self._files.fetch(address, file, max_bytes=MAX_FILE_BYTES)
            except NotDelivered:
                return Remark("gone", {"limit": MAX_FILE_BYTES // _MIB})
            except AdapterError:
                if pause_s is None:
                    break
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
        return Remark("unreachable", {"platform": address.platform.capitalize()})

    def _refused(self, address: Address, file: Attachment, remark: Remark) -> TakenFile:
        said = self._sentence(address, file, remark)
        return TakenFile(replace(file, parts=(), note=said), (said,))

    def _sentence(self, address: Address, file: Attachment, remark: Remark) -> str:
        return self._texts(address.platform)(f"files.{remark.key}", name=file.name, **remark.values)


def _too_large(file: Attachment) -> Remark | None:
    size_bytes = file.size_bytes or 0
    if size_bytes <= MAX_FILE_BYTES:
        return None
    return Remark("too_large", {"mib": math.ceil(size_bytes / _MIB), "limit": MAX_FILE_BYTES // _MIB})
