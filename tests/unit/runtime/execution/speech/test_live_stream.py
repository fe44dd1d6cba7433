"""A text that is written once more after a restart makes its pauses only from where it stood."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import pytest

from runtime.core.ids import StreamId
from runtime.execution.frames.loop import MAX_HASTE_S, RepeatedPauses
from runtime.execution.speech.live_stream import LiveStream, SpokenText

WORDS = ["Once ", "upon ", "a ", "time ", "there ", "was."]


class Channel:
    async def stream_chunk(self, _stream: object, _text: str) -> None:
        """Nobody looks."""


def stream(stands: str) -> LiveStream:
    unused = cast("Any", None)
    words = SpokenText(None, stands, told=False)
    return LiveStream(cast("Any", Channel()), StreamId("s"), unused, unused, words, 1, lambda _page, _text: None)


async def written(pauses: list[float]) -> AsyncIterator[str]:
    for word, pause_s in zip(WORDS, pauses, strict=True):
        async with asyncio.timeout(pause_s + 60):
            await asyncio.sleep(pause_s)
        yield word


async def read(live: LiveStream, pauses: list[float]) -> str:
    text = ""
    async for piece in live.read(written(pauses)):
        text += piece
        await live.write(piece)
    return text


async def test_pauses_up_to_where_a_text_stood_are_not_waited_for_again() -> None:
    with anyio.fail_after(60):
        assert await read(stream("Once upon a time "), [100, 100, 100, 100, 100, 0]) == "".join(WORDS)


@pytest.mark.parametrize("stands", ["", "Twice ", "Once upon a "])
async def test_pauses_from_there_on_are_made(stands: str) -> None:
    with anyio.move_on_after(0.05) as waiting:
        await read(stream(stands), [0, 0, 0, 0, 100, 0])
    assert waiting.cancelled_caught


def test_code_that_looks_again_and_again_goes_on_at_its_own_pace_after_a_while() -> None:
    haste, count = RepeatedPauses(), int(MAX_HASTE_S / 100)
    assert [haste.time_of(100.0, 0.0) for _ in range(count + 1)] == [*[0.0] * count, 100.0]
