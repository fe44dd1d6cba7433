"""Calls over one connection: long ones, failing ones, and those that are cut off."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.isolation.peer import AT_ONCE, FRAME_CHARS, Peer
from gateway.isolation.tokens import TaskTokens
from runtime.core.errors import AdapterError, RateLimited, StorageUnavailable, TapeConflict, TaskRefused
from tests.fakes.links import connected, linked

pytestmark = pytest.mark.anyio


async def echo(data: Any) -> Any:
    return data


async def conflict(_: Any) -> None:
    raise TapeConflict("somebody else wrote", expected=3, actual=5)


async def limited(_: Any) -> None:
    raise RateLimited("a pause", retry_after_s=3)


async def confused(data: Any) -> int:
    return int(data["there is no such key"])


ANSWERS = {"echo": echo, "conflict": conflict, "limited": limited, "confused": confused}


async def test_what_is_longer_than_a_frame_arrives_whole() -> None:
    text = "ü" * (2 * FRAME_CHARS + 7)
    async with connected(ANSWERS) as peer:
        assert await peer.call("echo", {"text": text}) == {"text": text}


async def test_errors_are_raised_as_they_are_on_the_other_side() -> None:
    async with connected(ANSWERS) as peer:
        with pytest.raises(TapeConflict, match="somebody else wrote") as found:
            await peer.call("conflict")
        assert (found.value.expected, found.value.actual) == (3, 5)
        with pytest.raises(AdapterError, match="a pause"):
            await peer.call("limited")
        with pytest.raises(TaskRefused, match="was not understood"):
            await peer.call("confused", {})
        with pytest.raises(TaskRefused, match="There is no call drop_everything"):
            await peer.call("drop_everything")
        assert await peer.call("echo", 1) == 1


class Deaf:
    """An end that calls without end, and never reads an answer."""

    def __init__(self) -> None:
        self.sent = 0

    async def receive(self) -> str:
        await anyio.lowlevel.checkpoint()
        self.sent += 1
        return '.{"call": "echo", "number": 1}'

    async def send(self, _: str, /) -> None:
        await anyio.sleep_forever()


async def test_of_an_end_that_reads_no_answers_no_more_calls_are_taken() -> None:
    deaf = Deaf()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Peer(deaf, ANSWERS).run)
        await anyio.wait_all_tasks_blocked()
        assert deaf.sent == 2 * AT_ONCE + 1
        tasks.cancel_scope.cancel()


async def test_a_call_that_is_cut_off_has_an_unknown_outcome() -> None:
    near, far = linked()
    peer = Peer(near, {})
    failures = []

    async def call() -> None:
        try:
            await peer.call("echo", 1)
        except StorageUnavailable as error:
            failures.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.run)
        tasks.start_soon(call)
        assert await far.receive() is not None
        far.close()
    with pytest.raises(StorageUnavailable):
        await peer.call("echo", 2)
    assert len(failures) == 1
    near.close()


def test_a_token_holds_until_it_is_void_and_cannot_be_made_up() -> None:
    tokens, others = TaskTokens[str](), TaskTokens[str]()
    token = tokens.issue("s1", 4, "holder")
    assert tokens.holder(token) == "holder"
    assert others.holder(token) is None
    assert tokens.holder(token[:-2] + "xx") is None
    assert tokens.holder(others.issue("s1", 4, "holder")) is None
    tokens.void(token)
    assert tokens.holder(token) is None
