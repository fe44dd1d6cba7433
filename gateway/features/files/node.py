"""Files in a process that serves conversations, where a program is tried, and in a session.

Files that come with what people do are fetched and read before a session takes the event, which waits in the inbox
until then. A crash in between repeats the work, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from gateway.feature import FeatureGround, ServingGround, TriedGround
from gateway.features.files.calls import FileCalls
from gateway.features.files.describing import FileDescriber
from gateway.features.files.intake import FileIntake, StoredFileIntake, WorkerReader
from gateway.features.files.reading import ReadLimits
from gateway.features.files.settings import FileSettings
from gateway.models.answers import BilledPerson
from gateway.outbound.pages import NodeFileAccess
from gateway.settings.tree import process_environment
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.files import FileAccess
from runtime.core.json_text import plain_data
from runtime.core.message import attachment_from
from runtime.llm.client import VisionRecord
from runtime.llm.models import VISION
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.records import RedisCounters
from runtime.stores.inbox import CLAIMED, REMARKS, SECONDS, InboxEvent


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
    return WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars))


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
