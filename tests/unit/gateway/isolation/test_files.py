"""Files in isolated tasks: those that people gave to the task and its own, whatever its process names."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gateway.isolation.forms import FILE, TAKEN
from gateway.isolation.node.file_calls import FileCalls
from runtime.core.address import Address
from runtime.core.errors import FileTooLarge, NotDelivered, TaskRefused
from runtime.core.files import FILE_URL, file_id
from runtime.core.message import Attachment, FilePart
from runtime.execution.calls.files import MAX_READ_BYTES
from runtime.language.program import Param
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.inbound.received_files import TakenFile
from runtime.tape.facts.pages import PageBegun
from runtime.tape.facts.people import FileReceived
from tests.fakes.crashes.world import World
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.fakes.platforms.file_intake import ScriptedIntake
from tests.unit.gateway.isolation.test_rights import fact, rights
from tests.unit.runtime.sessions.calls.test_files import CSV, FilesAtHand
from tests.unit.runtime.sessions.programs import agent, program, python, walked

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


class HereIntake(ScriptedIntake):
    """Takes files wherever they are sent."""

    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        assert (bool(once), bool(person), bool(address.key)) == (True, True, True)
        return [self._taken(file) for file in files]


LOOKING = program(
    agent("Main", python("Main", trigger="BGN When program starts"), code=MAIN),
    agent(
        "Clerk",
        python("Sum", public=True),
        walked("Look", "01:QUE Say(user, Tell what is on $photo)", params=(Param("photo"),)),
        code='async def Sum():\n    await Look(await Ask("A receipt?"))\n    return await Describe("receipt.jpg")\n',
    ),
)


async def test_the_model_of_an_isolated_task_is_shown_the_picture_of_an_answer(sandbox: MontySandbox) -> None:
    world, model = World(()), Model(Reply("It is 42.5."), Reply("a receipt"))
    near = NearAgents(LOOKING, lambda: world.tasks, model, sandbox, world.clock)
    more: dict[str, Any] = {"intake": HereIntake(pictures=["receipt.jpg"]), "task_conversation": near.conversations}
    async with talking(LOOKING, model, sandbox, world=world, **more) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.facts("task_asks")))
        talk.post("here", files=[Attachment("receipt.jpg", "image/jpeg", "test:9", 11)])
        await talk.until(lambda: talk.chat[-1:] == ["a receipt"])
        for asked in model.asked:
            pictures = [picture.data for message in asked for picture in message.pictures]
            assert [base64.b64decode(data) for data in pictures] == [b"receipt.jpg"]
        assert len(near.started) == 1


async def test_no_file_is_read_or_shown_that_nobody_gave_to_the_task() -> None:
    made, intake = rights(), HereIntake(pictures=["sales.csv"])
    calls = FileCalls(None, made, intake)
    with pytest.raises(TaskRefused, match="not given these files"):
        await calls.take_files([[FILE.write(CSV)], "1", "test:Ada"])
    assert intake.taken == []
    made.files.add(CSV.url)
    [taken] = TAKEN.read(await calls.take_files([[FILE.write(CSV)], "1", "test:Ada"]))
    [part] = taken.file.parts
    assert base64.b64decode(str(await calls.file_content(part.url))) == b"sales.csv"
    with pytest.raises(TaskRefused, match="not given this file"):
        await calls.file_content(FILE_URL + file_id(b"secret", "text/csv"))
    with pytest.raises(NotDelivered):
        await FileCalls(None, made).take_files([[FILE.write(CSV)], "1", "test:Ada"])
