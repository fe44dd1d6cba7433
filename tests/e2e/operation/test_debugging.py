"""An editor that debugs a whole gateway while somebody talks with it in the web chat."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.gateway_process import Gateway, Room, gateway, key_in, parley
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.protocols.dap_client import debugging
from tests.unit.gateway.observability.debugger.stand import (
    ASKS,
    COUNT,
    FIND,
    GUIDE,
    LETTERS,
    NAMED,
    PICK,
    PICKS,
    RETURN,
    TELL,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


@asynccontextmanager
async def guided(
    directory: Path, *replies: str, options: Sequence[str] = ()
) -> AsyncIterator[tuple[Gateway, OpenAIServer, Path]]:
    """The guide with a debug server, and its model."""
    (directory / "letters.txt").write_text(LETTERS)
    file = directory / "guide.pb"
    file.write_text(GUIDE)
    async with OpenAIServer([Reply(text) for text in replies]) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(directory),
            "PARLEY_COMPILER": "rules",
        }
        async with gateway(
            directory, file, environment, options=["--debug-address", "127.0.0.1:0", *options]
        ) as running:
            yield running, model, file


async def port_of(running: Gateway) -> int:
    (line,) = await running.prints(r"debugger\s+attach to 127\.0\.0\.1 port (\d+)")
    return int(line[1])


async def test_an_author_debugs_a_talk_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS.text, NAMED.text, PICKS.text) as (running, _, file):
        async with debugging(await port_of(running)) as editor, running.page() as page:
            room = Room(page)
            await room.join()
            (found,) = await editor.begin({file: [FIND]})
            assert (found["verified"], found["line"]) == (True, FIND)
            await room.say("hello")
            await room.until("Who are you?")
            await room.say("Ada")
            host = (await editor.stopped())["threadId"]
            assert await editor.where(host) == [("Main:02:QUE", FIND)]
            (frame,) = await editor.stack(host)
            assert (await editor.scopes(frame["id"]))["Agent Host"]["name"] == '"Ada"'
            await editor.break_at(file, RETURN, condition="$who == 'Bob'")
            await editor.break_at(file, TELL, condition="letters == 3")
            await editor.request("stepIn", threadId=host)
            scout = (await editor.stopped())["threadId"]
            assert await editor.where(scout) == [("Find", 20), ("Host.Main:02:QUE", FIND)]
            await editor.request("next", threadId=scout)
            await editor.stopped()
            assert (await editor.where(scout))[0] == ("Find:01:EXE", PICK)
            await editor.request("stepOut", threadId=scout)
            assert (await editor.stopped())["threadId"] == host
            assert await editor.where(host) == [("Main:03:QUE", COUNT)]
            await editor.request("next", threadId=host)
            assert "breakpoint" in (await editor.stopped())["reason"]
            assert await editor.where(host) == [("Main:04:QUE", TELL)]
            assert room.texts() == ["Who are you?"]
            running.kill()
            await running.gone()
        await running.start()
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.until("Who are you?", "Oslo, 3")


async def test_a_gateway_that_is_stopped_lets_what_stands_come_to_its_end(tmp_path: Path) -> None:
    replies = (ASKS.text, NAMED.text, PICKS.text)
    async with guided(tmp_path, *replies, options=["--stop-on-entry"]) as (running, _, file):
        await running.prints("nothing is executed until then")
        async with debugging(await port_of(running)) as editor, running.page() as page:
            room = Room(page)
            await room.join()
            await editor.begin({file: [FIND]})
            await room.say("hello")
            stopped = await editor.stopped()
            assert stopped["reason"] == "entry"
            await editor.request("continue", threadId=stopped["threadId"])
            await room.until("Who are you?")
            await room.say("Ada")
            assert (await editor.stopped())["reason"] == "breakpoint"
            assert await running.stop(signal.SIGTERM) == 0
            await editor.until("terminated")
        assert re.search("debugger.detached", running.output)
        await running.start()
        async with running.page() as page:
            room = Room(page)
            await room.join()
            assert room.texts() == ["Who are you?", "Oslo, 3"]


async def test_a_debugger_listens_on_this_machine_alone(tmp_path: Path) -> None:
    code, _, errors = await parley(tmp_path, "run", "--debug-address", "0.0.0.0:7529")
    assert code == 2
    assert "listens on this machine alone" in errors
