"""An utterance while it is written, and the text that people read of it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable

from msgspec import Struct

from runtime.channels.channel import Channel
from runtime.core.ids import StreamId
from runtime.core.message import Message
from runtime.execution.frames.loop import HASTE, RepeatedPauses
from runtime.execution.speech.delivery import addressed, surely_addressed, untagged
from runtime.execution.speech.joint import Joint
from runtime.execution.speech.targets import SpeechTarget
from runtime.tape.state.people import PageState


class SpokenText:
    """The text of an utterance as people read it: with the name of whom it is said to, behind what stands of it."""

    def __init__(self, whom: str | None, stands: str, *, told: bool) -> None:
        """`whom`: the addressee among several people, by name. `told`: see `Joint`."""
        self._whom = whom
        self._tag, begun = untagged(stands, whom)
        self._joint = Joint(begun, told=told) if stands.strip() else None
        self.told = told and self._joint is not None

    @property
    def is_behind(self) -> bool:
        """Whether the text has not come further yet than what stands."""
        return self._joint is not None and self._joint.is_behind

    def sure(self, text: str) -> str:
        """The part of it that is sure while it is written; "" while that is no more than what stands."""
        said = surely_addressed(text, self._whom) if text.strip() else ""
        return self._with_what_stands(said, final=False) if said else ""

    def whole(self, text: str) -> str:
        return self._with_what_stands(addressed(text, self._whom) if text else "", final=True)

    def _with_what_stands(self, said: str, *, final: bool) -> str:
        if self._joint is None:
            return said
        joined = self._joint.text(untagged(said, self._whom)[1], final=final)
        return self._tag + joined if final or self._joint.met else ""


class LiveStream(Struct, eq=False):
    """An utterance in progress: `Say` whose text is still being written."""

    channel: Channel
    stream: StreamId
    page: PageState
    target: SpeechTarget
    words: SpokenText
    _piece_chars: int
    """The smallest number of characters shown at a time."""
    _show_page: Callable[[PageState, str], None]
    """Shows people the whole text so far."""
    _text: str = ""
    _shown: str = ""

    async def write(self, piece: str) -> None:
        await self.come_to(self._text + piece)

    async def come_to(self, text: str) -> None:
        """Show what is new of a text, when there is enough of it."""
        self._text = text
        await self._show(self.words.sure(text), self._piece_chars)

    async def _show(self, said: str, at_least_chars: int) -> None:
        piece = said[len(self._shown) :]
        if len(piece) >= at_least_chars:
            self._shown = said
            self._show_page(self.page, said)
            await self.channel.stream_chunk(self.stream, piece)

    async def read(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """The pieces of a text by code. One that is written once more after a restart makes no pauses up to where it
        stood. A model's words are not read so: its pauses are those before it is asked again."""
        haste, reader = RepeatedPauses(), aiter(pieces)
        while True:
            haste.over = not self.words.is_behind
            before = HASTE.set(haste)
            try:
                piece = await anext(reader)
            except StopAsyncIteration:
                return
            finally:
                HASTE.reset(before)
            yield piece

    async def fail(self, reason: str) -> None:
        """End the stream without a message; its page stays open for the frame's next utterance."""
        await self._show(self.words.sure(self._text), 1)
        await self.channel.complete_stream(self.stream, None, error=reason)

    async def end(self, message: Message) -> None:
        """End the stream with the message that it has become."""
        if message.content.startswith(self._shown):
            self._show_page(self.page, message.content)
        await self.channel.complete_stream(self.stream, message)
