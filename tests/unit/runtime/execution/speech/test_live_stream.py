"""A text that is written once more after a restart makes its pauses only from where it stood; and a text's end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import pytest

from runtime.bus import Bus
from runtime.channels.channel import Channel
from runtime.core.ids import ChannelId, StreamId
from runtime.core.message import StreamChunk
from runtime.execution.frames.loop import MAX_HASTE_S, RepeatedPauses
from runtime.execution.speech.live_stream import LiveStream, SpokenText
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, direct
from tests.unit.runtime.channels.test_channel import Inbox, Watcher, start

WORDS = ["Once ", "upon ", "a ", "time ", "there ", "was."]


class Unwatched:
    async def stream_chunk(self, _stream: object, _text: str) -> None:
        """Nobody looks."""


def stream(stands: str) -> LiveStream:
    unused = cast("Any", None)
    words = SpokenText(None, stands, told=False)
    return LiveStream(cast("Any", Unwatched()), StreamId("s"), unused, unused, words, 1, lambda _page, _text: None)


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


class Stalled(Watcher):
    """Takes no piece to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        await super().on_stream_chunk(event)
        self.asked.set()
        await anyio.sleep(0.01)


async def test_who_watches_hears_of_the_end_though_the_speaker_is_stopped_at_the_last_piece() -> None:
    unused, watcher, seen = cast("Any", None), Stalled(), list[str]()
    channel = Channel(ChannelId("channel_1"), [Inbox(A).participant], Bus(FakeClock()))
    channel.add_observer(watcher)
    await channel.start_stream(start())
    words = SpokenText(None, "", told=False)
    live = LiveStream(channel, start().stream_id, unused, unused, words, 100, lambda _page, text: seen.append(text))
    await live.write("Once upon")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.end, direct("Once upon a time."))
        await watcher.asked.wait()
        tasks.cancel_scope.cancel()
    assert (watcher.text, len(watcher.endings), seen) == ("Once upon a time.", 1, ["Once upon a time."])
