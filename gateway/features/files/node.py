"""Files in a process that serves conversations, where a program is tried, and in a session.

Files that come with what people do are fetched and read before a session takes the event, which waits in the inbox
until then. A crash in between repeats the work, and nothing else.

platform ──fetch──> store ──> worker ──> what a model is given of it ──> store
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
from anyio.abc import Process
from msgspec import Struct
from msgspec.structs import replace

from gateway.feature import FeatureGround, ServingGround, TriedGround
from gateway.features.files import reading
from gateway.features.files.calls import FileCalls
from gateway.features.files.describing import FileDescriber
from gateway.features.files.settings import FileSettings
from gateway.inbound.usage_limits import DAY_S, UsageCounters
from gateway.models.answers import BilledPerson
from gateway.outbound.pages import NodeFileAccess
from gateway.settings.tree import process_environment
from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import AdapterError, ContentLocked, NotDelivered
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, PICTURE_TYPE, FileAccess, FileStore
from runtime.core.json_text import plain_data
from runtime.core.message import Attachment, FilePart, attachment_from
from runtime.core.texts import Texts
from runtime.execution.prompt.with_files import FileContents
from runtime.llm.client import VisionRecord
from runtime.llm.models import VISION
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.records import RedisCounters
from runtime.stores.inbox import CLAIMED, REMARKS, SECONDS, InboxEvent

PAUSES_S: Final = (1.0, 4.0)
"""The pauses before a file is asked for again, when its platform does not give it."""

_MIB: Final = 1024 * 1024
_TYPES: Final = {"image": PICTURE_TYPE, "text": reading.TEXT_TYPE}

_ROOT = Path(__file__).parents[3]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from gateway.features.files.worker.main import main; main()"
"""The command of a worker. `-P` excludes the working directory from imports: it is the user's, with unknown content."""

AT_ONCE: Final = 2
"""The number of simultaneous workers of a node; further files wait."""

MAX_READ_BYTES: Final = 64 * 1024 * 1024
"""What a worker may write; more comes from none of ours."""


class TakenFile(Struct, frozen=True):
    """A file as a session knows it, and what its sender is told about it. `seconds` is the length of a sound, by what
    its container says."""

    file: Attachment
    remarks: tuple[str, ...] = ()
    seconds: float | None = None


class FileIntake(FileContents, Protocol):
    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        """Take the files of one event of a person, `once` its id. What cannot be taken is said in remarks. Raises
        StorageError."""


class StoredFileIntake(Struct, frozen=True):
    """Implements `FileIntake` for the platforms of a node."""

    _files: FileAccess
    _store: FileStore
    _reader: reading.FileReader
    _counters: UsageCounters
    _limits: FileSettings
    _texts: Callable[[str], Texts]
    _clock: Clock
    sight: VisionRecord

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

    async def _too_many_today(self, address: Address, person: str, once: str) -> reading.FileRemark | None:
        own, now_s = self._limits, self._clock.now().timestamp()
        hours = math.ceil((DAY_S - now_s % DAY_S) / 3600)
        for whose, limit, key in (
            (person, own.person_per_day if person else 0, "too_many_of_yours"),
            (address.key, own.per_day, "too_many_today"),
        ):
            name = f"files:{whose}:{int(now_s // DAY_S)}"
            told = f"{whose}/{address.key}/{once}"
            if limit and await self._counters.add(name, 1, once=told, ttl_s=2 * DAY_S) > limit:
                return reading.FileRemark(key, {"limit": limit, "hours": hours})
        return None

    async def _taken(self, address: Address, file: Attachment, person: str | None) -> TakenFile:
        data = await self._fetched(address, file)
        if isinstance(data, reading.FileRemark):
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

    async def _fetched(self, address: Address, file: Attachment) -> bytes | reading.FileRemark:
        for pause_s in (*PAUSES_S, None):
            try:
                return await self._files.fetch(address, file, max_bytes=MAX_FILE_BYTES)
            except NotDelivered:
                return reading.FileRemark("gone", {"limit": MAX_FILE_BYTES // _MIB})
            except AdapterError:
                if pause_s is None:
                    break
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
        return reading.FileRemark("unreachable", {"platform": address.platform.capitalize()})

    def _refused(self, address: Address, file: Attachment, remark: reading.FileRemark) -> TakenFile:
        said = self._sentence(address, file, remark)
        return TakenFile(replace(file, parts=(), note=said), (said,))

    def _sentence(self, address: Address, file: Attachment, remark: reading.FileRemark) -> str:
        return self._texts(address.platform)(f"files.{remark.key}", name=file.name, **remark.values)


def _too_large(file: Attachment) -> reading.FileRemark | None:
    size_bytes = file.size_bytes or 0
    if size_bytes <= MAX_FILE_BYTES:
        return None
    return reading.FileRemark("too_large", {"mib": math.ceil(size_bytes / _MIB), "limit": MAX_FILE_BYTES // _MIB})


class WorkerReader:
    """A `FileReader` whose files are decoded elsewhere: whatever a file does to its worker, the host goes on."""

    def __init__(self, environment: Mapping[str, str], limits: reading.ReadLimits | None = None) -> None:
        """`environment` is everything that workers see of it."""
        self._environment = dict(environment)
        self._limits = limits or reading.ReadLimits()
        self._at_once = anyio.Semaphore(AT_ONCE)
        self.jailed: bool | None = None
        """Whether the last worker had a jail around it; None before the first."""

    async def read(self, data: bytes, media_type: str, /) -> reading.Reading:
        head = {"type": media_type, "limits": plain_data(self._limits)}
        given = json.dumps(head).encode() + b"\n" + data
        async with self._at_once:
            written = await self._decoded(given)
        if written is None:
            return _failed()
        try:
            return self._reading(written)
        except (ValueError, LookupError, TypeError):
            return _failed()

    async def _decoded(self, given: bytes) -> bytes | None:
        """A worker's output; None when it broke or took too long. It is gone then, also when this is cancelled."""
        try:
            with anyio.CancelScope(shield=True):
                worker = await anyio.open_process(
                    [sys.executable, "-P", "-c", _START, str(_ROOT)],
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                    start_new_session=True,
                )
        except OSError:
            return None
        written = bytearray()
        try:
            with anyio.move_on_after(self._limits.whole_s):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_give, worker, given)
                    assert worker.stdout is not None
                    async for piece in worker.stdout:
                        written += piece
                        if len(written) > MAX_READ_BYTES:
                            return None
                await worker.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if worker.returncode is None:
                    worker.kill()
                await worker.wait()
                await worker.aclose()
        return None if worker.returncode else bytes(written)

    def _reading(self, written: bytes) -> reading.Reading:
        line, _, rest = written.partition(b"\n")
        head: Mapping[str, Any] = json.loads(line)
        self.jailed = bool(head["jailed"])
        parts, begin = [], 0
        for kind, page, size in head["parts"]:
            parts.append(reading.ReadPart(kind, rest[begin : begin + size], page))
            begin += size
        remarks = tuple(reading.FileRemark(key, values) for key, values in head["remarks"])
        return reading.Reading(head["type"], tuple(parts), remarks, head["seconds"])


async def _give(worker: Process, given: bytes) -> None:
    assert worker.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it has died
        await worker.stdin.send(given)
        await worker.stdin.aclose()


def _failed() -> reading.Reading:
    """The worker took too long, needed too much, or broke."""
    return reading.Reading(reading.UNKNOWN_TYPE, (), (reading.FileRemark("not_readable"),))


class SessionFiles(SessionPart):
    """The files of one session: those that come, those that models and programs are given, and those that are sent."""

    def __init__(self, parts: SessionParts, files: FileAccess, intake: FileIntake, describer: FileDescriber) -> None:
        super().__init__(parts)
        self._intake = intake
        self._describer = describer
        self.contents = intake
        self.calls = (FileCalls(parts, files, describer),)

    async def prepare(self, event: InboxEvent, /) -> InboxEvent:
        if not event.attachments:
            return event
        files = [attachment_from(file) for file in event.attachments]
        taken = await self._intake.take(event.address, files, event.id, person=event.person_id)
        payer, known = BilledPerson(self._record.id, event.address, event.person_id), []
        before = {file.url: file for file in self._journal.state.files} if event.kind == "edit" else {}
        for sent, one in zip(files, taken, strict=True):
            old = before.get(one.file.url)  # brought by the message that is changed: nothing about it is new
            file = old or await self._describer.described(one.file, payer)
            told = {REMARKS: () if old else one.remarks, CLAIMED: sent.media_type, SECONDS: one.seconds}
            known.append({**plain_data(file), **told})
        return replace(event, attachments=tuple(known))


def files_part(files: FileAccess, intake: FileIntake, describer: FileDescriber) -> NodePart:
    part = partial(SessionFiles, files=files, intake=intake, describer=describer)
    return InSessions(part, part)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    models, own = serving.models, ground.settings.files
    assert models is not None  # a front has no sessions
    intake = StoredFileIntake(
        *(serving.files, RedisFileStore(ground.connection, own.bounds), _reader(own), RedisCounters(ground.connection)),
        own,
        lambda on: serving.texts.get(on, ground.texts),
        *(ground.clock, VisionRecord(models, own.sees)),
    )
    describes = VISION in ground.settings.models
    describer = FileDescriber(models, intake, serving.limits.allowance, ground.bus.publish, describes=describes)
    return files_part(serving.files, intake, describer)


def tried(ground: TriedGround) -> NodePart | None:
    """The files of a session that is held in memory alone, where it keeps any."""
    own, store = ground.settings.files, ground.files
    if store is None:
        return None
    limits, files = own.model_copy(update={"person_per_day": 0}), NodeFileAccess({}, store)
    intake = StoredFileIntake(
        *(files, store, _reader(own), _Counts(), limits, lambda _: ground.texts, SystemClock(), VisionRecord())
    )
    return files_part(files, intake, FileDescriber(ground.llm, intake, unlimited, ground.bus.publish, describes=False))


def _reader(own: FileSettings) -> WorkerReader:
    return WorkerReader(process_environment(), reading.ReadLimits(text_chars=own.document_chars))


class _Counts:
    """The sums of one talk. Implements `gateway.inbound.usage_limits.UsageCounters`."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._known: set[tuple[str, str]] = set()

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        if (name, once) not in self._known:
            self._known.add((name, once))
            self._sums[name] = self._sums.get(name, 0.0) + amount
        return self._sums[name]

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        return [self._sums.get(name, 0.0) for name in names]


async def unlimited(_address: Address, _person: str | None, /) -> str | None:
    return None
