"""`/metrics` on the real web server: for who knows the token, and nobody else."""

from __future__ import annotations

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.web.adapter import WebAdapter
from gateway.observability.metrics import CONTENT_TYPE, ProcessMetrics
from gateway.observability.watching import NodeGauges
from gateway.web.app import build_web
from gateway.web.guard import MetricsScrape, health_routes
from gateway.web.server import serve
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.frames import TurnCompleted
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.web_chat import named_alone

pytestmark = pytest.mark.anyio

TOKEN = "a-token-of-the-tests"
"""What the scraper knows."""


async def waiting(_shards: object) -> tuple[int, int]:
    return 0, 0


async def asked(scrape: MetricsScrape | None, **headers: str) -> httpx.Response:
    """The answer of a server with these metrics."""
    clock = SystemClock()
    adapter = WebAdapter(memory_tables(), clock)
    app = build_web(adapter, named_alone(), health_routes(list, scrape))
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            answer = await http.get(f"http://127.0.0.1:{port}/metrics", headers=headers)
        tasks.cancel_scope.cancel()
    return answer


def counted() -> MetricsScrape:
    bus = Bus(SystemClock())
    metrics = ProcessMetrics(NodeGauges(lambda: {1}, lambda: 0, lambda: 0, lambda: 0, lambda: 0, lambda: True, waiting))
    metrics.attach(bus)
    bus.publish(TurnCompleted("s", "1", "1", "Main"))
    return MetricsScrape(TOKEN, metrics.text, CONTENT_TYPE)


async def test_who_knows_the_token_reads_what_prometheus_can_parse() -> None:
    answer = await asked(counted(), authorization=f"Bearer {TOKEN}", host="prometheus.example.org")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == CONTENT_TYPE
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert [sample.value for sample in families["parley_turns"].samples] == [1.0]
    assert families["process_cpu_seconds"].samples


@pytest.mark.parametrize("authorization", ["", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN])
async def test_nobody_else_reads_anything(authorization: str) -> None:
    answer = await asked(counted(), authorization=authorization)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "parley_" not in answer.text


async def test_without_a_token_there_are_no_metrics() -> None:
    assert (await asked(None, authorization=f"Bearer {TOKEN}")).status_code == 404
