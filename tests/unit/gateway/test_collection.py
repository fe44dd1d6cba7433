"""How often cyclic garbage is looked for."""

import gc
import signal
from collections.abc import Callable, Iterator

import pytest

from gateway.__main__ import YOUNG, collect_rarely, main
from gateway.cli import run
from gateway.service import GatewayReady

OBJECTS = 200_000


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def test_objects_that_stay_in_memory_are_rarely_looked_through() -> None:
    collect_rarely()
    before = collections()
    kept: list[list[object]] = [[] for _ in range(OBJECTS)]
    assert len(kept) == OBJECTS
    assert collections() - before <= OBJECTS // YOUNG + 1


async def test_a_gateway_keeps_what_exists_once_it_is_ready() -> None:
    async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
        on_ready(GatewayReady([], drain))
        signal.raise_signal(signal.SIGTERM)

    async def drain(_within_s: float | None) -> None:
        seen.append(any(each is old for each in gc.get_objects()))

    old: list[object] = []
    assert any(each is old for each in gc.get_objects())
    seen: list[bool] = []
    await run._serve(serve, print)
    assert seen == [False]


def test_a_command_collects_rarely_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["parley", "--version"])
    with pytest.raises(SystemExit):
        main()
    assert gc.get_threshold()[0] == YOUNG
