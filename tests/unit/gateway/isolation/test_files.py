"""Files in isolated tasks: those that people gave to the task and its own, whatever its process names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gateway.isolation.forms import FILE
from gateway.isolation.node.file_calls import FileCalls
from runtime.core.errors import FileTooLarge, NotDelivered, TaskRefused
from runtime.core.files import FILE_URL, file_id
from runtime.core.message import Attachment, FilePart
from runtime.execution.calls.files import MAX_READ_BYTES
from runtime.sandbox.monty import MontySandbox
from runtime.tape.facts.pages import PageBegun
from runtime.tape.facts.people import FileReceived
from tests.fakes.crashes.world import World
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.gateway.isolation.test_rights import fact, rights
from tests.unit.runtime.sessions.calls.test_files import CSV, FilesAtHand
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

CLERK = """
async def Sum():
    answer = await Ask("Which file?")
    await SendFile("sum.csv", await ReadFile("sales.csv"), "Here")
    return "sent"
"""
MAIN = 'async def Main():\n    await Say("user", await Result(await Spawn("Clerk", "Sum")))\n'
SUMMING = program(
    agent("Main", python("Main", trigger="BGN When program starts"), code=MAIN),
    agent("Clerk", python("Sum", public=True), code=CLERK),
)
KEPT = FILE_URL + file_id(b"a,b", "text/csv")


@asynccontextmanager
async def isolated(sandbox: MontySandbox, files: FilesAtHand) -> AsyncIterator[tuple[Talk, NearAgents]]:
    world, model = World(()), Model()
    near = NearAgents(SUMMING, lambda: world.tasks, model, sandbox, world.clock)
    more: dict[str, Any] = {"files": files, "task_conversation": near.conversations}
    async with talking(SUMMING, model, sandbox, world=world, **more) as talk:
        yield talk, near


async def test_a_task_reads_the_file_of_an_answer_and_sends_one(sandbox: MontySandbox) -> None:
    files = FilesAtHand(test_1=b"a,b")
    async with isolated(sandbox, files) as (talk, near):
        talk.post("hi")
        await talk.until(lambda: bool(talk.facts("task_asks")))
        talk.post("this one", files=[CSV])
        await talk.until(lambda: talk.chat[-1:] == ["sent"])
        assert files.kept == [b"a,b"]
        assert [page.file for page in talk.world.specs if page.file] == [Attachment("sum.csv", "text/csv", KEPT, 3)]
        assert len(near.started) == 1


async def test_a_file_that_nobody_gave_to_the_task_is_not_read() -> None:
    files = FilesAtHand(test_1=b"secret")
    calls = FileCalls(files, rights())
    with pytest.raises(TaskRefused, match=r"not given the file sales\.csv"):
        await calls.fetch_file([FILE.write(CSV), 10])
    with pytest.raises(TaskRefused):
        await calls.fetch_file([FILE.write(replace(CSV, parts=(FilePart("text", "test:1", 1),))), 10])
    assert files.fetched == []


async def test_what_is_too_large_or_cannot_be_kept_is_said() -> None:
    with pytest.raises(FileTooLarge):
        await FileCalls(FilesAtHand(), rights()).keep_file(["A" * (MAX_READ_BYTES * 2), "text/plain"])
    with pytest.raises(NotDelivered):
        await FileCalls(None, rights()).keep_file(["", "text/plain"])


@pytest.mark.parametrize(
    "forged",
    [
        FileReceived(CSV.name, CSV.media_type, CSV.url),
        FileReceived(CSV.name, CSV.media_type, CSV.url, parts=(FilePart("text", "test:2", 1),)),
        PageBegun("f1", "1000", "file", file=CSV),
    ],
)
def test_a_tape_gives_no_file_to_its_task(forged: FileReceived | PageBegun) -> None:
    made = rights()
    with pytest.raises(TaskRefused, match="files that it was given"):
        made.read(fact(1, forged.kind, **forged.data()))
    assert made.files == set()


def test_a_task_has_the_files_on_its_tape_after_a_restart() -> None:
    made = rights()
    made.files.add(CSV.url)
    made.read(fact(1, FileReceived.kind, **FileReceived(CSV.name, CSV.media_type, CSV.url).data()))
    made.read(fact(2, PageBegun.kind, **PageBegun("f1", "1000", "file", file=CSV).data()))
    assert made.files == {CSV.url}
