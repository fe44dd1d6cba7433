"""Reports about failures: what failed and where, without a word of any conversation. On Redis they are a hash, beside
one of their numbers by fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from runtime.core.json_text import plain_data
from runtime.sessions.failures import FailureKind
from runtime.storage.redis.client.connection import RedisConnection, load_script

_ADD = load_script("add", "gateway.features.reports")
_SET = load_script("set", "gateway.features.reports")
_REPORTS = "{parley:reports}"
_NUMBERS = "{parley:reports}:numbers"

MAX_REPORTS = 500
"""The reports that are kept; the oldest are forgotten."""

Decision = Literal["", "again", "left"]

_HOUR_S = 3600


class Report(Struct, frozen=True):
    """Alike failures of one hour. Times are seconds since the epoch.

    `session` and `seq` are the branch of the first of them: the fact that says how it failed. `mark` is which failure
    was counted last. `instruction` is the step's text in the program, `source` its file and line.
    """

    kind: FailureKind
    session: str
    seq: int
    conversation: str
    program: str
    version: str
    agent: str
    playbook: str
    step: str
    error_type: str
    mark: str
    first_s: float
    last_s: float
    instruction: str = ""
    source: str = ""
    count: int = 1
    number: int = 0
    decided: Decision = ""
    told: bool = False
    """Whether the owners have been told of it."""

    @property
    def fingerprint(self) -> str:
        """The same for failures that are in one report: version, playbook, step and type of error, in one hour."""
        parts = (self.kind, self.program, self.version, self.agent, self.playbook, self.step, self.error_type)
        hour = int(self.first_s // _HOUR_S)
        return hashlib.sha256("\n".join((*parts, str(hour))).encode()).hexdigest()[:24]

    @property
    def place(self) -> str:
        return f"{self.agent}: {self.step or self.playbook}" if self.agent else self.playbook


class ReportStore(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def add(self, report: Report, /) -> Report:
        """Keep a report, or count it to the one of its fingerprint; the one that is kept, with its number.

        A failure that is added twice in a row, after a crash, counts once.
        """

    async def all(self) -> Sequence[Report]:
        """The kept reports, the latest last."""

    async def get(self, number: int, /) -> Report | None: ...

    async def decide(self, number: int, decided: Decision, /) -> None:
        """Note the outcome of a report; one that is gone is left alone."""

    async def tell(self, number: int, /) -> None:
        """Note that the owners have been told of it."""


class RedisReports:
    """Implements `ReportStore`. `bound` is how many are kept."""

    def __init__(self, connection: RedisConnection, *, bound: int = MAX_REPORTS) -> None:
        self._connection = connection
        self._bound = bound

    async def add(self, report: Report, /) -> Report:
        which: list[str | int] = [report.fingerprint, _written(report), report.mark, repr(report.last_s)]
        return _read(str(await self._connection.run(_ADD, [_REPORTS, _NUMBERS], [*which, self._bound])))

    async def all(self) -> Sequence[Report]:
        found = [_read(kept) for kept in await self._connection.read("hvals", _REPORTS)]
        return sorted(found, key=lambda report: report.number)

    async def get(self, number: int, /) -> Report | None:
        kept = await self._connection.ask("HGET", _REPORTS, number)
        return None if kept is None else _read(str(kept))

    async def decide(self, number: int, decided: Decision, /) -> None:
        await self._connection.run(_SET, [_REPORTS], [number, "decided", json.dumps(decided)])

    async def tell(self, number: int, /) -> None:
        await self._connection.run(_SET, [_REPORTS], [number, "told", "true"])


def _written(report: Report) -> str:
    return json.dumps(plain_data(report), ensure_ascii=False)


def _read(kept: str) -> Report:
    return Report(**json.loads(kept))
