"""The web chat on several nodes: a page sees on one node what another says, also when that one dies."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.gateway_process import Gateway, Room
from tests.e2e.several_nodes import Nodes, one_valkey, several_nodes
from tests.e2e.tellers import END_OF_STORY, HELLO, TELLER

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ROOMS = [f"room-{number}" for number in range(40)]


async def rooms_of(nodes: Nodes, page_of: Gateway, stack: AsyncExitStack, count: int) -> dict[str, list[Room]]:
    """Rooms whose programs run on each node, all of them seen through pages of one node."""
    found: dict[str, list[Room]] = {name: [] for name in nodes.by_name}
    for name in ROOMS:
        if min(len(rooms) for rooms in found.values()) >= count:
            break
        room = Room(await stack.enter_async_context(page_of.page()), name)
        await room.open()
        await room.say("hi")
        await room.until(HELLO)
        await nodes.until(partial(_served, nodes, name))
        (server,) = _served(nodes, name)
        found[server].append(room)
    return found


def _served(nodes: Nodes, room: str) -> list[str]:
    """The nodes where a room's session began."""
    return [name for name in nodes.by_name if nodes.logged(name, "session.started", conversation=f"web:{room}")]


async def test_a_page_sees_an_answer_of_another_node_grow_and_its_end_when_that_node_dies(tmp_path: Path) -> None:
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], {}) as nodes,
        AsyncExitStack() as stack,
    ):
        await nodes.balanced("a", "b")
        rooms = (await rooms_of(nodes, nodes["a"], stack, 2))["b"]
        for room in rooms:
            await room.say("long")
        for room in rooms:
            await _grown_in_steps(room, 5)
        await nodes.end("b")
        for room in rooms:
            await room.until_some(END_OF_STORY)
            await room.say("and then?")
            await room.until(HELLO, room.texts()[1], "You said: and then?")


async def _grown_in_steps(room: Room, steps: int) -> None:
    """Return when the newest text has been seen at so many lengths."""
    lengths = set[int]()

    def seen() -> bool:
        lengths.add(len(room.texts()[-1]))
        return len(lengths) >= steps and len(room.texts()) == 2

    await room.until_that(seen)


async def test_somebody_is_the_same_person_on_every_node_and_sees_everywhere_what_was_said_anywhere(
    tmp_path: Path,
) -> None:
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, TELLER, url, ["a", "b"], {}) as nodes,
        AsyncExitStack() as stack,
    ):
        nodes["b"].know("Ada", await nodes["a"].cookie("Ada"))
        pages = [await stack.enter_async_context(nodes[name].page("Ada")) for name in ("a", "b")]
        here, there = (Room(page, "lobby") for page in pages)
        for room in (here, there):
            await room.join()
        await here.say("hi")
        await there.until("hi", kind="person")
        await there.say("and you?")
        for room in (here, there):
            await room.until("hi", "and you?", kind="person")
            assert len({message["by"] for message in room.messages.values() if message["kind"] == "person"}) == 1
            await room.until(HELLO, "You said: and you?")
