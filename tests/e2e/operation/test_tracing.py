"""What the whole gateway tells a collector: one conversation as a tree, on both sides of kill -9, and nothing said."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.gateway_process import Gateway, Room, gateway
from tests.fakes.observing.span_collector import KEYS, Collector, collecting
from tests.fakes.observing.span_tree import traces
from tests.fakes.people.remote_stand import served_by
from tests.fakes.protocols.mcp_server import Ledger

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240), pytest.mark.usefixtures("warm_servers")]

PROGRAM = """\
# Shop

```python
@playbook(triggers=["When program starts"])
async def Begin():
    await Say("user", "Open.")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", await HandleQuery(message["text"]))


@playbook
async def HandleQuery(query: str):
    return await Clerk.FetchData(query)
```

# Clerk

```python
@playbook(public=True)
async def FetchData(url: str):
    try:
        await Check(url)
    except ValueError:
        pass
    greeting = await Bank.greet(url)
    if url == "wait":
        await Bank.transfer()
    return greeting


@playbook
async def Check(url: str):
    raise ValueError("a secret about " + url)
```

# Bank:MCP
remote:
  type: mcp
  {bank}
  env: [PYTHONPATH]
"""
FIRST = """\
shop · invoke_workflow
  Shop · invoke_agent
    Shop.Begin · execute_tool
      show web · -"""
QUERY = """\
shop · invoke_workflow
  Shop · invoke_agent
    Shop.Begin · execute_tool · linked
      Shop.HandleQuery · execute_tool
        Clerk.FetchData · execute_tool
          Clerk.Check · execute_tool · failed: ValueError
          Bank.greet · execute_tool
      show web · -"""
RESUMED = """\
shop · invoke_workflow
  Shop · invoke_agent
    Shop.Begin · execute_tool · linked
      Shop.HandleQuery · execute_tool · linked
        Clerk.FetchData · execute_tool · linked
          Bank.transfer · execute_tool · linked
      show web · -"""


def settings_of(folder: Path, collector: Collector) -> dict[str, str]:
    """Spans for the collector, who knows us by a file."""
    (folder / "headers").write_text(f"Authorization={KEYS}\nx-langfuse-ingestion-version=4\n")
    return {
        "PARLEY_TRACING__ON": "true",
        "PARLEY_TRACING__ENDPOINT": collector.url,
        "PARLEY_TRACING__HEADERS_FILE": str(folder / "headers"),
        "PARLEY_TRACING__TIMEOUT_S": "60",
        "PARLEY_LOGS__LEVEL": "debug",
    }


async def room_of(running: Gateway, stack: AsyncExitStack) -> Room:
    room = Room(await stack.enter_async_context(running.page()))
    await room.join()
    return room


async def test_a_conversation_is_a_tree_of_spans_that_goes_on_behind_a_kill(tmp_path: Path) -> None:
    program, ledger = tmp_path / "shop.pb", Ledger(tmp_path / "ledger")
    program.write_text(PROGRAM.format(bank=served_by(tmp_path / "ledger")))
    async with collecting() as collector, gateway(tmp_path, program, settings_of(tmp_path, collector)) as running:
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.say("hi")
            await room.until("Open.")
            await room.say("walrus")
            await room.until("Open.", "Hello walrus")
            await collector.until(lambda: sum(not span.parent for span in collector.spans) == 2)
            await collector.until(lambda: sum(span.name == "show web" for span in collector.spans) == 2)
            assert traces(collector.spans) == [FIRST, QUERY]
            first = next(span for span in collector.spans if span.name == "Shop.Begin")
            await room.say("wait")
            await running.prints("remote.progressed")
        running.kill()
        await running.gone()
        collector.spans.clear()
        await running.start()
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.until("Open.", "Hello walrus", "Hello wait")
            await collector.until(lambda: any(span.name == "show web" for span in collector.spans))
            await collector.until(lambda: any(not span.parent for span in collector.spans))
        assert traces(collector.spans) == [RESUMED]
        resumed = next(span for span in collector.spans if span.name == "Shop.Begin")
        assert resumed.links == ((first.trace, first.span),)
        assert resumed.attributes["session.id"] == first.attributes["session.id"]
        assert collector.versions == ["4"] * len(collector.versions)
        sent = b"".join(collector.bodies)
    assert [word for word in (b"walrus", b"Hello", b"secret", b"Open.") if word in sent] == []
    assert ledger.keys("transfer") != []


async def scraped(http: httpx.AsyncClient, running: Gateway) -> dict[tuple[str, ...], float]:
    """Every sample, by its name and labels."""
    answer = await http.get(f"{running.url}/metrics", headers={"authorization": "Bearer a-token"})
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_prometheus_reads_what_the_conversation_came_to(tmp_path: Path) -> None:
    program = tmp_path / "echo.pb"
    program.write_text(
        '# Echo\n\n```python\n@playbook(triggers=["When program starts"])\nasync def Begin():\n'
        '    await Say("user", "Open.")\n    await Log("opened", by="Ada")\n```\n'
    )
    async with gateway(tmp_path, program, {"PARLEY_METRICS__TOKEN": "a-token"}) as running:
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.say("hi")
            await room.until("Open.")
        logged = await running.prints(r"\{.*program\.logged.*\}")
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            refused = await http.get(f"{running.url}/metrics")
            with anyio.fail_after(90):
                while (found := await scraped(http, running)).get(("parley_inbox_events",)) != 0:
                    pass  # what was answered leaves the inbox a moment later
    assert refused.status_code == 401
    line = json.loads(logged[0][0])
    assert (line["line"], line["values"], line["agent"]) == ("opened", {"by": "Ada"}, "Echo")
    assert found["parley_messages_admitted_total", "web"] == 1
    assert found["parley_first_text_seconds_count", "web"] == 1
    assert 0 < found["parley_first_text_seconds_sum", "web"] < 60
    assert found["parley_playbook_calls_total", "python", "echo"] == 1
    assert found["parley_shards",] == 64
    assert found["parley_conversations",] == 1
    assert found["parley_store_answers",] == 1
