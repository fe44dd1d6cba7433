"""Whatever clients of the bus send ends no connection and nobody else's use, and is answered with an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import ClientConnection

from tests.contract.services.test_bus_doors import ORDER, TASK, World, build, bus, socket_of
from tests.fakes.protocols.malformed import malformed

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

DEEP = "[" * 150 + "]" * 150
HUGE = "1" + "0" * 400
RAW = ["NaN", "-Infinity", "1e999", r'"\ud800"', DEEP, "[" * 40_000, HUGE, "1" * 5_000, "nul", ""]
"""Values that a reader of JSON may stumble over, as they are written."""

SCOPES = ["events:write:>", "events:read:>", "tasks:write:desk", "tasks:read:desk", "triggers:shop", "content"]

FRAMES: Mapping[str, Mapping[str, Any]] = {
    "a subscription": {"type": "bus.subscribe", "id": "1", "data": {"types": [">"], "subject": "x", "after": "newest"}},
    "an acknowledgement": {"type": "bus.ack", "id": "1", "data": {"cursor": "MQ"}},
    "another control frame": {"type": "bus.dance", "id": "1", "data": {}},
    "an event": {
        **build(1, specversion="1.0", subject="x", time="2026-01-01T00:00:00Z", source="/clients/ci"),
        "datacontenttype": "application/json",
        "dataschema": "x",
        "traceparent": "x",
    },
    "an event in base64": {"type": "order.placed", "id": "2", "data_base64": "eyJpdGVtIjogInRlYSJ9"},
}


def written(good: Mapping[str, Any]) -> Iterator[str]:
    """A payload as it is written, with each of its parts replaced by what does not belong there."""
    for wrong in malformed(dict(good)):
        yield json.dumps(wrong)
    for name in good:
        for raw in RAW:
            yield json.dumps({**good, name: "@"}).replace('"@"', raw, 1)
    yield from (*RAW, "[]", "7", "null", '"text"')


async def answered(socket: ClientConnection, id_: str) -> None:
    """Wait for the answer to a good event."""
    await socket.send(json.dumps(build(0, id=id_)))
    with anyio.fail_after(120):
        while json.loads(await socket.recv()).get("correlationid") != id_:
            pass


@pytest.mark.parametrize("frame", FRAMES)
async def test_a_frame_of_any_form_ends_no_connection(valkey_socket: Path, frame: str) -> None:
    async with bus(valkey_socket, ci=SCOPES, bob=SCOPES) as world:
        async with socket_of(world, "bob") as other, socket_of(world) as socket:
            for number, text in enumerate(written(FRAMES[frame])):
                await socket.send(text)
                if number % 50 == 0:
                    await answered(socket, f"after {number}")
            await answered(socket, "at the end")
            await answered(other, "another's")
        await all_can_read(world)


async def all_can_read(world: World) -> None:
    """What was kept can be read by everybody, and told as a stream."""
    found = await world.ask("bob", "GET", "/events", params={"after": "oldest", "limit": "1000"})
    assert found.status_code in (200, 410)


async def test_a_frame_that_is_no_object_is_refused_and_the_next_one_is_taken(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=SCOPES) as world, socket_of(world) as socket:
        for text in ("[]", "nul", r'{"type": "build.done", "id": "\ud800"}', '{"data": NaN}'):
            await socket.send(text)
            refused = json.loads(await socket.recv())
            assert (refused["type"], refused["data"]["status"]) == ("bus.refused", 400)
        await answered(socket, "after")


BODIES: Mapping[str, Mapping[str, Any]] = {
    "/events": FRAMES["an event"],
    "/tasks": {
        "program": "desk",
        "arguments": {},
        "within_s": 5,
        "limits": {"tokens": 5, "dollars": 1},
        "key": "k",
        **ORDER,
    },
    f"/tasks/{TASK}/messages": {"id": "1", "text": "hello", "ask": "7"},
}


@pytest.mark.parametrize("path", BODIES)
async def test_a_request_of_any_form_is_answered(valkey_socket: Path, path: str) -> None:
    async with bus(valkey_socket, ci=SCOPES, bob=SCOPES) as world, world.http("ci") as http:
        for text in written(BODIES[path]):
            found = await http.post(path, content=text)
            assert found.status_code < 500 or found.status_code == 503, (text[:300], found.text)
        await all_can_read(world)


@pytest.mark.parametrize("value", [HUGE, "1e308", "31622400000"])
@pytest.mark.parametrize("name", ["within_s", "tokens", "dollars"])
async def test_an_order_with_a_number_beyond_all_measure_is_refused_or_bounded(
    valkey_socket: Path, name: str, value: str
) -> None:
    order = json.dumps({"program": "desk", **ORDER})[:-1]
    more = f'"within_s": {value}' if name == "within_s" else f'"limits": {{"{name}": {value}}}'
    async with bus(valkey_socket, ci=SCOPES) as world, world.http("ci") as http:
        found = await http.post("/tasks", content=f"{order}, {more}}}")
        assert found.status_code == (422 if name == "within_s" else 201)
