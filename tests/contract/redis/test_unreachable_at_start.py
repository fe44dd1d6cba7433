"""The servers of a URL at the start of a gateway: away, late, not ready, or not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.core.errors import StorageUnavailable
from runtime.storage.redis.client.server_check import START_LIMIT_S, reach
from tests.fakes.clock import HastyClock
from tests.fakes.servers.ports import free_port
from tests.fakes.servers.valkey import RealValkey

pytestmark = pytest.mark.anyio


class StartsAServer(HastyClock):
    """A clock during whose first pause somebody starts the server."""

    def __init__(self, server: RealValkey) -> None:
        super().__init__()
        self._server = server

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if not self.pauses_s:
            self._server.start()
        await super().sleep_until(monotonic_s)


async def test_a_server_that_never_answers_is_said_at_once_and_ends_the_start() -> None:
    told: list[str] = []
    clock, port = HastyClock(), free_port()
    with pytest.raises(StorageUnavailable) as caught:
        await reach(f"redis://parley:secret@127.0.0.1:{port}/0", told.append, clock=clock)
    assert f"No Redis or Valkey answered at redis://127.0.0.1:{port}/0 within 60 s" in str(caught.value)
    assert "Start it, or correct PARLEY_REDIS_URL." in str(caught.value)
    assert len(told) == 1
    assert f"redis://127.0.0.1:{port}/0" in told[0]
    assert "Trying again for 60 s." in told[0]
    assert "secret" not in told[0] + str(caught.value)
    assert START_LIMIT_S - 2 < clock.monotonic() <= START_LIMIT_S


async def test_a_server_that_comes_late_is_told_and_the_start_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    server = RealValkey(tmp_path)
    try:
        await reach(f"unix://{server.socket}", told.append, clock=StartsAServer(server))
    finally:
        server.kill()
    assert told[0].startswith(f"No Redis or Valkey answers at unix://{server.socket}: ")
    assert told[1:] == [f"The database at unix://{server.socket} answers."]


async def test_nothing_is_said_of_a_server_that_answers(tmp_path: Path) -> None:
    told: list[str] = []
    server = RealValkey(tmp_path)
    server.start()
    try:
        await reach(f"unix://{server.socket}", told.append)
    finally:
        server.kill()
    assert told == []
