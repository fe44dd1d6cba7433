"""The documents of `/bus/v1` and `/tape/v1` as tools read them: requests made from them, good and bad, are answered as
they say."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection

from adapters.capabilities import Budget
from gateway.clients import requests
from tests.contract.services import test_bus_doors as buses
from tests.contract.services import test_tape_doors as tapes

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(400)]

CONFIG = Path(__file__).with_name("schemathesis.toml")
SERIALIZERS = "tests.contract.services.serializers"

LOCAL = {"no_proxy": "127.0.0.1", "NO_COLOR": "1", "COLUMNS": "200"}


@pytest.fixture(autouse=True)
def any_number_of_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operation is tried without a token: that is to be refused for what it is."""
    monkeypatch.setattr(requests, "ATTEMPTS", Budget(rate_per_s=1_000, burst=100_000))


async def tried(url: str, token: str, requests: int, folder: Path) -> tuple[int, str]:
    """The exit status and the report of a run against a document: boundary values, and so many requests more of each
    operation."""
    environment = {**os.environ, **LOCAL, "DOCUMENT_TOKEN": token, "SCHEMATHESIS_HOOKS": SERIALIZERS}
    program = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run", f"{url}/openapi.json"]
    options = ["--phases=coverage,fuzzing", f"--max-examples={requests}", f"--url={url}", "--no-shrink"]
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    run = await anyio.run_process([*program, *options], env=environment, check=False, cwd=folder)
    return run.returncode, run.stdout.decode() + run.stderr.decode()


async def test_what_the_tape_service_answers_is_in_its_document(tmp_path: Path) -> None:
    async with tapes.service() as world:
        await world.write("plan", "one", "two", "three")
        status, report = await tried(f"{world.url}/tape/v1", tapes.token_of("ci"), 5, tmp_path)
    assert status == 0, report


async def test_what_the_bus_answers_is_in_its_document(valkey_socket: Path, tmp_path: Path) -> None:
    scopes = ["events:read:>", "events:write:>", "tasks:read:*", "tasks:write:*", "content"]
    async with buses.bus(valkey_socket, ci=scopes) as world:
        await buses.said(world, "words")
        status, report = await tried(f"{world.url}/bus/v1", buses.token_of("ci"), 5, tmp_path)
    assert status == 0, report


def some(**good_and_bad: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these keys, each with one of its values."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in good_and_bad.items()})


DATA = some(
    types=[["build.*"], [">"], ["*.>", "a.b"], [], [5], "build.*", ["..b"], None],
    after=["oldest", "", "not a cursor", 5, None],
    subject=["eu", "", 5, None],
    cursor=["MQ", "", 5],
    more=[1],
)
FRAMES = st.builds(
    lambda frame, data: {**frame, **data},
    some(
        type=["bus.subscribe", "bus.ack", "bus.dance", "build.done", "build", "", "a..b", 5, None, ["bus.ack"]],
        id=["1", "2", "", 5, None, "x" * 201, "a\nb"],
        source=["/clients/ci", "/clients/bob", "", 5],
        specversion=["1.0", "0.3", 1],
        time=["2026-01-31T12:00:00Z", "noon", 5],
        datacontenttype=["application/json", "text/plain"],
        subject=["eu", 5, "x" * 201],
        replyto=["/here", 5],
        colour=["red"],
    ),
    st.one_of(st.just({}), st.builds(lambda data: {"data": data}, DATA)),
)


@given(st.lists(FRAMES, min_size=60, max_size=60))
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
async def test_what_the_socket_answers_to_any_frame_is_in_its_document(
    valkey_socket: Path, frames: list[dict[str, Any]]
) -> None:
    async with (
        buses.bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world,
        buses.socket_of(world) as socket,
    ):
        for number, frame in enumerate(frames):
            answers = await answers_to(socket, frame, f"probe {number}")
            assert [kind for kind, _ in answers] in allowed(frame), f"{json.dumps(frame)}: {answers}"
            assert all(id_ == correlation(frame) for _, id_ in answers), f"{json.dumps(frame)}: {answers}"


async def answers_to(socket: ClientConnection, frame: Mapping[str, Any], probe: str) -> list[tuple[str, Any]]:
    """The answers to a frame, up to that to an event that is sent after it: types and correlation ids. Every frame that
    comes has to be one that the document has."""
    await socket.send(json.dumps(frame))
    await socket.send(json.dumps({"type": "probe", "id": probe}))
    answers: list[tuple[str, Any]] = []
    while (found := await buses.heard(socket)).get("correlationid") != probe:
        if found["type"].startswith("bus."):
            answers.append((found["type"], found.get("correlationid")))
    return answers


def allowed(frame: Mapping[str, Any]) -> list[list[str]]:
    """The answers that a frame may get, by the document: what fits no message of it is refused."""
    operation = buses.ASYNCAPI["operations"]["receive"]["messages"]
    names = [message["$ref"].rpartition("/")[2] for message in operation]
    fits = [name for name in names if buses.schema_of(payload_of(name), buses.ASYNCAPI).is_valid(frame)]
    control = str(frame.get("type", "")).startswith("bus.")
    answers = {"subscribe": "bus.subscribed", "send": "bus.ack"}
    may = [[answers[name]] for name in fits if name in answers and not (name == "send" and control)]
    if "acknowledge" in fits:
        return [[]]
    return [*may, ["bus.refused"]]  # also what fits: another's source, a cursor that is none


def payload_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = buses.ASYNCAPI["components"]["messages"][name]["payload"]
    return found


def correlation(frame: Mapping[str, Any]) -> str | None:
    return frame["id"] if isinstance(frame.get("id"), str) else None
