"""Files in a process that serves conversations, and where a program is tried."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.feature import FeatureGround, ServingGround, TriedGround
from gateway.features.files.describing import Describer
from gateway.features.files.intake import IntakeLimits, StoredFileIntake, WorkerReader
from gateway.features.files.reading import ReadLimits
from gateway.features.files.session import NodeFiles
from gateway.features.files.settings import FileSettings
from gateway.outbound.file_source import Files
from gateway.settings.tree import process_environment
from runtime.core.clock import SystemClock
from runtime.llm.client import Sight
from runtime.llm.models import VISION
from runtime.sessions.node_context import unlimited
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.records import RedisCounters


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeFiles:
    """The files of this node's conversations."""
    models, own = serving.models, ground.settings.files
    assert models is not None  # a front has no sessions
    intake = StoredFileIntake(
        *(serving.files, RedisFileStore(ground.connection, own.bounds), _reader(own), RedisCounters(ground.connection)),
        IntakeLimits(own.per_message, own.per_day, own.person_per_day),
        lambda on: serving.texts.get(on, ground.texts),
        *(ground.clock, Sight(models, own.sees)),
    )
    describes = VISION in ground.settings.models
    describer = Describer(models, intake, serving.limits.allowance, ground.bus.publish, describes=describes)
    return NodeFiles(serving.files, intake, describer)


def tried(ground: TriedGround) -> NodeFiles | None:
    """The files of a session that is held in memory alone, where it keeps any."""
    own, store = ground.settings.files, ground.files
    if store is None:
        return None
    limits, files = IntakeLimits(own.per_message, own.per_day), Files({}, store)
    intake = StoredFileIntake(
        *(files, store, _reader(own), _Counts(), limits, lambda _: ground.texts, SystemClock(), Sight())
    )
    return NodeFiles(files, intake, Describer(ground.llm, intake, unlimited, ground.bus.publish, describes=False))


def _reader(own: FileSettings) -> WorkerReader:
    return WorkerReader(process_environment(), ReadLimits(text_chars=own.document_chars))


class _Counts:
    """The sums of one talk. Implements `gateway.inbound.usage_limits.Counters`."""

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
