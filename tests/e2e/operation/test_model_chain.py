"""Two models at two servers: what one of them does not answer, the other one does, and people read it once."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway, parley
from tests.e2e.several_nodes import one_valkey, rooms_of, several_nodes
from tests.fakes.models.openai_server import OpenAIServer, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

HELLO_PROGRAM = ROOT / "examples" / "hello.pb"
BEGUN = "Hello! I am the greeter of this house, and before we begin I would like to know what "
REST = "your name is."


def chain(first: OpenAIServer, second: OpenAIServer) -> dict[str, str]:
    """The settings of two models that stand in for each other."""
    return {
        "PARLEY_MODELS__DEFAULT": "one,two",
        "PARLEY_MODELS__ONE__MODEL": "openai/first",
        "PARLEY_MODELS__ONE__BASE_URL": first.base_url,
        "PARLEY_MODELS__TWO__MODEL": "openai/second",
        "PARLEY_MODELS__TWO__BASE_URL": second.base_url,
        "PARLEY_MODELS__TWO__USD_IN": "10",
        "PARLEY_MODELS__TWO__USD_CACHED": "1",
        "PARLEY_MODELS__TWO__USD_OUT": "11",
    }


async def test_the_second_goes_on_in_the_same_message_when_the_first_dies_in_mid_answer(tmp_path: Path) -> None:
    dies = Reply(BEGUN + REST, hold_after_chars=len(BEGUN) + 5, drop_after_chars=len(BEGUN) + 5)
    async with (
        OpenAIServer([dies]) as first,
        OpenAIServer([Reply(REST)]) as second,
        gateway(tmp_path, HELLO_PROGRAM, chain(first, second)) as running,
        running.page() as page,
    ):
        room = Room(page)
        await room.join()
        await room.say("hi")
        await room.until_some(BEGUN.strip())
        first.release()
        await room.until(BEGUN + REST)
        assert (len(first.requests), len(second.requests)) == (1, 1)
        await room.say("/status")
        await room.until_that(lambda: any("answered last: openai/second" in text for text in room.texts("notice")))
        status, output, errors = await parley(tmp_path, "usage", "--by", "model")
        assert status == 0, errors
        assert re.search(r"openai/second +1 +100 +80 +20 +0\.0005", output), output


async def test_a_model_that_one_node_found_busy_is_not_asked_by_the_other(tmp_path: Path) -> None:
    hello = "Hello! What is your name?"
    async with (
        OpenAIServer([Reply(status=429, retry_after_s=500, repeat=True)]) as first,
        OpenAIServer([Reply(hello, repeat=True)]) as second,
        one_valkey() as url,
        several_nodes(tmp_path, HELLO_PROGRAM, url, ["a", "b"], chain(first, second)) as nodes,
        AsyncExitStack() as stack,
    ):
        await nodes.balanced("a", "b")
        rooms = await rooms_of(nodes, nodes["a"], stack, 1, hello)
        assert all(rooms[name] for name in ("a", "b"))
        assert len(first.requests) == 1
        assert len(second.requests) >= 2


async def test_a_program_that_names_an_unknown_model_does_not_start_and_the_error_lists_what_there_is(
    tmp_path: Path,
) -> None:
    program = tmp_path / "shop.pb"
    program.write_text(
        "# Shop\nmodel: huge\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Greet the user\n"
    )
    status, output, errors = await parley(tmp_path, "run", str(program), PARLEY_MODELS__BIG="openai/x")
    assert status == 2, output + errors
    assert 'Shop: there is no model "huge"; there are: default, fast, summary, compile, vision, big.' in " ".join(
        errors.split()
    )
