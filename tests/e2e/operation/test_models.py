"""Models behind a gateway: another answers where one does not, and the process that asks them may die."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley
from tests.e2e.processes import family
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


HELLO = "Hello! What is your name? I would like to know it before we go on."
LIMIT_S = 60.0
KEY = "sk-of-the-provider"


@asynccontextmanager
async def greeting(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[tuple[Gateway, Room]]:
    """A gateway in whose lobby somebody has come in."""
    environment = {
        "PARLEY_MODEL": "openai/test",
        "PARLEY_MODEL_BASE_URL": model.base_url,
        "PARLEY_MODEL_API_KEY": KEY,
    }
    async with gateway(tmp_path, HELLO_PROGRAM, environment) as running, running.page() as page:
        room = Room(page)
        await room.join()
        await room.say("hi")
        yield running, room


def model_process_of(running: Gateway) -> int:
    (found,) = [one.id for one in family(running.process_id) if "runtime.llm.worker" in one.command]
    return found


async def test_a_model_process_that_is_killed_in_the_middle_of_an_answer_is_not_noticed(tmp_path: Path) -> None:
    replies = [Reply(HELLO, hold_after_chars=20, chunk_chars=10), Reply(HELLO)]
    async with OpenAIServer(replies) as model, greeting(tmp_path, model) as (running, room):
        await room.until_some("Hello!")
        os.kill(model_process_of(running), signal.SIGKILL)
        await room.until(HELLO)
        assert room.texts("notice") == []
        await running.prints(r"signal 9.*model\.lost|model\.lost.*signal 9")


async def test_killing_the_gateway_ends_the_model_process(tmp_path: Path) -> None:
    replies = [Reply(HELLO, hold_after_chars=20, chunk_chars=10)]
    async with OpenAIServer(replies) as model, greeting(tmp_path, model) as (running, room):
        await room.until_some("Hello!")
        handle = os.pidfd_open(model_process_of(running))
        running.kill()
        with anyio.fail_after(LIMIT_S):
            await anyio.wait_readable(handle)
        os.close(handle)


async def test_the_gateway_is_ready_with_a_model_that_answers_from_a_small_process(tmp_path: Path) -> None:
    async with OpenAIServer([Reply(HELLO)]) as model, greeting(tmp_path, model) as (running, room):
        await room.until(HELLO)
        async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT_S) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready", "reasons": []}
        about = Path(f"/proc/{running.process_id}")
        resident = re.search(r"VmRSS:\s+(\d+) kB", (about / "status").read_text())
        assert resident is not None
        assert int(resident[1]) / 1024 < 120  # with litellm in it: 220
