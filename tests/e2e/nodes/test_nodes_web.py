"""The web chat on several nodes: a page sees on one node what another says, also when that one dies."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import Room
from tests.e2e.several_nodes import one_valkey, rooms_of, several_nodes
from tests.e2e.tellers import END_OF_STORY, HELLO, TELLER

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
        await there.until(HELLO)
        await there.say("and you?")
        for room in (here, there):
            await room.until("hi", "and you?", kind="person")
            assert len({message["by"] for message in room.messages.values() if message["kind"] == "person"}) == 1
            await room.until(HELLO, "You said: and you?")
