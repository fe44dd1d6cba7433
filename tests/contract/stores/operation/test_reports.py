"""Every store of reports about failures, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from gateway.features.reports.redis import RedisReports, Report, ReportStore
from runtime.storage.redis.client.connection import open_connection
from tests.contract.setups import SETUPS, location_of
from tests.fakes.memory.reports import MemoryReports

pytestmark = pytest.mark.anyio

Make = Callable[..., ReportStore]


@pytest.fixture(params=["memory", *SETUPS])
async def make(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Make]:
    if request.param == "memory":
        yield MemoryReports
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield partial(RedisReports, connection)


def report(mark: str, at_s: float = 7200.25, **more: Any) -> Report:
    made = Report(
        *("uncaught", "s", 9, "test:1", "shop", "v1", "Host", "Ship", "Ship:02:EXE", "ValueError", mark, at_s, at_s),
        *("Weigh “it”", "shop.pb:4"),
    )
    return replace(made, **more)


async def test_failures_that_are_alike_are_one_report_with_their_number(make: Make) -> None:
    store = make()
    assert await store.add(report("a")) == report("a", number=1)
    for mark in ("b", "b", "c"):
        counted = await store.add(report(mark, 7300.5, session="t", seq=40))
    assert counted == report("c", number=1, count=3, last_s=7300.5, first_s=7200.25)
    assert await store.all() == [counted]
    assert await store.get(1) == counted
    assert await store.get(2) is None


@pytest.mark.parametrize(
    "other",
    [
        {"step": "Ship:03:EXE"},
        {"playbook": "Pay"},
        {"version": "v2"},
        {"error_type": "KeyError"},
        {"kind": "schedule"},
        {"first_s": 10_800.0},
    ],
)
async def test_another_step_version_error_or_hour_is_another_report(make: Make, other: dict[str, Any]) -> None:
    store = make()
    await store.add(report("a"))
    assert (await store.add(report("b", **other))).number == 2


async def test_the_oldest_reports_are_forgotten_and_begin_anew(make: Make) -> None:
    store = make(bound=2)
    for number in range(4):
        await store.add(report("a", step=str(number)))
    assert [kept.number for kept in await store.all()] == [3, 4]
    assert (await store.add(report("z", step="0"))).number == 5


async def test_what_was_decided_stays(make: Make) -> None:
    store = make()
    await store.add(report("a"))
    await store.decide(1, "again")
    await store.decide(7, "left")
    assert [(kept.decided, kept.told) for kept in await store.all()] == [("again", False)]
    await store.tell(1)
    assert [(kept.decided, kept.told) for kept in await store.all()] == [("again", True)]
    assert (await store.add(report("b"))).decided == "again"
