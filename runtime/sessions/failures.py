"""The port for failures that nobody catches: what failed, and who takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from runtime.core.address import Address

FailureKind = Literal["uncaught", "dead_letter", "schedule"]


class SessionFailure(Struct, frozen=True):
    """Something that failed: fact `seq` of a session says how. `mark` tells it from others."""

    kind: FailureKind
    session: str
    seq: int
    address: Address
    program: str
    version: str
    agent: str
    playbook: str
    step: str
    error_type: str
    mark: str


class ReportReference(Struct, frozen=True):
    """The report that a failure is in: its number, and how many failures it has."""

    number: int
    count: int


@runtime_checkable
class ReportDesk(Protocol):
    """Takes failures, each as often as it comes, and counts it once. Raises StorageUnavailable, and nothing else: what
    fails in making a report begins no other."""

    async def take(self, failure: SessionFailure, /) -> ReportReference: ...


async def report(failure: SessionFailure, parts: Iterable[object]) -> None:
    """Have a failure taken by the one of these parts that takes them, if any does. Raises StorageUnavailable."""
    for part in parts:
        if isinstance(part, ReportDesk):
            await part.take(failure)
