"""The waiting times of the console, over HTTP: `python -m benchmarks.web_chat.console`.

Times are medians, from the request of a page to the whole answer, over the real web server and an embedded database.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import anyio
import httpx

from benchmarks.stores.tapes import NODE, SESSIONS, Bench, make_sessions
from benchmarks.table import Row, show
from runtime.core.address import Address
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Lease
from tests.fakes.pages.console import console

LENGTH = 100_000
TIMES = 15
QUICK = "< 100 ms"
FIRST_LOOKS = (90_001, 12_345, 66_666, 30_000, 78_999)


async def _ms(http: httpx.AsyncClient, path: str, times: int = TIMES) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        answer = await http.get(path)
        took.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, answer.text
    return statistics.median(took)


async def _first_ms(http: httpx.AsyncClient, tape: str) -> float:
    """Looks at moments that nobody has looked at, far from each other."""
    return statistics.median([await _ms(http, f"{tape}/state?at={at}", 1) for at in FIRST_LOOKS])


async def measure() -> list[Row]:
    """Lists of many sessions, and a session of many facts."""
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedValkey(Path(directory)) as socket, console(socket) as world, world.logged_in() as http:
            connection, address = world.ground.connection, Address("bench", "1")
            shard = shard_of(address.key)
            token = await RedisLeaseStore(connection).acquire(f"shard:{shard}", NODE)
            assert token is not None
            session = await Bench(connection, Lease(shard, token), address).long_session(LENGTH)
            await make_sessions(connection)
            tape = f"/tape/v1/tapes/sessions.{session}"
            many, long = f"{SESSIONS:,} sessions", f"{LENGTH:,} facts"
            return [
                Row(f"the status, {many}", await _ms(http, "/bus/v1/status"), "ms", target=QUICK),
                Row(f"first 50 of {many}", await _ms(http, "/bus/v1/sessions?words=1"), "ms", target=QUICK),
                Row(f"one of {many} found by its name", await _ms(http, "/bus/v1/sessions?text=many99000"), "ms"),
                Row(f"the strip of the last 1,000 of {long}", await _ms(http, f"{tape}/strip"), "ms", target=QUICK),
                Row(f"1,000 amid {long}", await _ms(http, f"{tape}/strip?until={LENGTH // 2}"), "ms"),
                Row(f"the state after {long}", await _ms(http, f"{tape}/state"), "ms", target=QUICK),
                Row(
                    f"first looks into the past of {long}",
                    await _first_ms(http, tape),
                    "ms",
                    await _ms(http, f"{tape}/state?at=51000"),
                    "looks from then on",
                    "< 300 ms",
                ),
            ]


def run() -> list[Row]:
    """The console's rows of the table."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
