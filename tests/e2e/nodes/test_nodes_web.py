"""The web chat on several nodes: a page sees on one node what another says, also when that one dies."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from gateway.console.door import ASKS
from runtime.storage.embedded.data_directory import node_id
from tests.e2e.gateway_process import Room
from tests.e2e.several_nodes import Nodes, one_valkey, rooms_of, several_nodes
from tests.e2e.tellers import END_OF_STORY, HELLO, TELLER

PASSWORD = "a-password-for-the-console"
CONSOLE = {"PARLEY_CONSOLE__PASSWORD": PASSWORD, "PARLEY_CONSOLE__ACTS": "true"}

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def test_a_page_sees_an_answer_of_another_node_grow_and_its_end_when_that_node_dies(tmp_path: Path) -> None:
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], {}) as nodes,
        AsyncExitStack() as stack,
    ):
        await nodes.balanced("a", "b")
        rooms = (await rooms_of(nodes, nodes["a"], stack, 2, HELLO))["b"]
        for room in rooms:
            await room.say("long")
        for room in rooms:
            await _grown_in_steps(room, 5)
        await nodes.end("b")
        for room in rooms:
            await room.until_some(END_OF_STORY)
            await room.say("and then?")
            await room.until(HELLO, room.texts()[1], "You said: and then?")


async def _grown_in_steps(room: Room, steps: int, messages: int = 2) -> None:
    """Return when the newest text has been seen at so many lengths."""
    lengths = set[int]()

    def seen() -> bool:
        lengths.add(len(room.texts()[-1]))
        return len(lengths) >= steps and len(room.texts()) == messages

    await room.until_that(seen)


async def test_somebody_is_the_same_person_on_every_node_and_sees_everywhere_what_was_said_anywhere(
    tmp_path: Path,
) -> None:
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], CONSOLE) as nodes,
        AsyncExitStack() as stack,
    ):
        nodes["b"].know("Ada", await nodes["a"].cookie("Ada"))
        pages = [await stack.enter_async_context(nodes[name].page("Ada")) for name in ("a", "b")]
        here, there = (Room(page, "lobby") for page in pages)
        for room in (here, there):
            await room.join()
        await here.say("hi")
        await there.until("hi", kind="person")
        await there.until(HELLO)
        await there.say("and you?")
        for room in (here, there):
            await room.until("hi", "and you?", kind="person")
            assert len({message["by"] for message in room.messages.values() if message["kind"] == "person"}) == 1
            await room.until(HELLO, "You said: and you?")
        await here.say("long")
        await _grown_in_steps(there, 5, messages=3)
        await _drained_and_serving_again(nodes, there)


async def _drained_and_serving_again(nodes: Nodes, room: Room) -> None:
    """Have the node that tells the story drained, at the other one's console: it tells it to the end, and is empty."""
    tells = next(name for name in ("a", "b") if nodes.logged(name, "session.started"))
    other = "b" if tells == "a" else "a"
    async with httpx.AsyncClient(base_url=nodes[other].url, headers={ASKS: "1"}, trust_env=False, timeout=30) as http:
        await http.post("/console/login", json={"password": PASSWORD, "name": "Olga"})
        node = node_id(nodes[tells].data_dir)
        before = nodes.balances(other)
        assert (await http.post(f"/bus/v1/nodes/{node}/drain", json={})).status_code == 200
        await room.until_some(END_OF_STORY)
        await nodes.has(other, 64, after=before)
        status = (await http.get("/bus/v1/status")).json()
        assert {one["name"]: one["shards"] for one in status["nodes"]}[node] == 0
        before = nodes.balances(tells)
        assert (await http.post(f"/bus/v1/nodes/{node}/undrain", json={})).status_code == 200
        await nodes.has(tells, 32, after=before)
