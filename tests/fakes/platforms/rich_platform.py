"""A chat platform with everything: streams, drafts, deletions, choices, files. It refuses what a real one would."""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from msgspec.structs import replace

from adapters.adapter import Call, FileData
from adapters.capabilities import Budget, Capabilities, PreviewLimits, StreamLimits
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, MessageGone, NotDelivered, OutcomeUncertain, StreamOver
from runtime.core.message import Choice
from tests.fakes.platforms.bucket_platform import BucketPlatform, make_capabilities

APPENDS = Budget(rate_per_s=2.0, burst=5)
OPENINGS = Budget(rate_per_s=1.0, burst=3)
STREAM = StreamLimits(max_age_s=60.0, max_text=1000, append=APPENDS, opening=OPENINGS, worth_chars=40)
DRAFTS = PreviewLimits(keep_alive_s=20.0)


def rich_capabilities(
    *, stream: StreamLimits | None = None, preview: PreviewLimits | None = None, max_text: int = 400
) -> Capabilities:
    """Everything but what is not named."""
    return replace(
        make_capabilities(max_text=max_text, idempotent_send=True),
        deletes=True,
        quotes=True,
        max_choices=3,
        max_choice_label=20,
        max_file_bytes=100,
        stream=stream,
        preview=preview,
    )


class RichPlatform(BucketPlatform):
    """`trouble` is raised by the next calls of a kind: before they are applied, or after if the outcome is unclear."""

    def __init__(self, clock: Clock, capabilities: Capabilities | None = None) -> None:
        super().__init__(clock, capabilities=capabilities or rich_capabilities())
        self.trouble: dict[Call | str, deque[tuple[AdapterError, bool]]] = defaultdict(deque)
        self.kinds: Counter[str] = Counter()
        self.open: dict[str, float] = {}
        self.offered: dict[str, tuple[Choice, ...]] = {}
        self.files: dict[str, FileData] = {}
        self.drafts: list[str] = []
        self.quoted: list[str | None] = []
        self.drawn: list[Call] = []
        self.room_for_marks = 0
        """How much longer a text with the marks that close it may be than `max_text`."""

    def previews(self, to: Address, /) -> bool:
        return self.capabilities.preview is not None

    def draws(self, to: Address, call: Call, /, *, speaker: Speaker | None = None) -> Sequence[tuple[str, Budget]]:
        self.drawn.append(call)
        return ((to.conversation, self._assumed),)

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        self._measure(text)
        unclear = self._meet("send")
        message = await super().send(to, text, speaker=speaker, nonce=nonce, final=final)
        self.quoted.append(reply_to)
        self._lose(unclear)
        return message

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        self._measure(text)
        unclear = self._meet("edit")
        self.open.pop(message, None)
        await super().edit(to, message, text, speaker=speaker, nonce=nonce, final=final)
        self._lose(unclear)

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        unclear = self._meet("delete")
        await self._apply(to)
        self.messages.pop(message, None)
        self._lose(unclear)

    async def open_stream(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        unclear = self._meet("open_stream")
        message = await super().send(to, text, speaker=speaker, nonce=nonce, final=False)
        self.quoted.append(reply_to)
        self.open[message] = self._clock.monotonic()
        self._lose(unclear)
        return message

    async def append(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        await self._extend("append", to, message, text)

    async def close_stream(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        await self._extend("close_stream", to, message, text)

    async def preview(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> None:
        self._measure(text)
        unclear = self._meet("preview")
        await self._apply(to)
        self.drafts.append(text)
        self._lose(unclear)

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        unclear = self._meet("offer")
        await self._apply(to)
        if message not in self.messages:
            raise MessageGone(f"message {message} is not there")
        self.messages[message] = text
        self.offered[message] = tuple(choices)
        self._lose(unclear)

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        unclear = self._meet("upload")
        message = await super().send(to, text, speaker=speaker, nonce=nonce, final=True)
        self.files[message] = file
        self.quoted.append(reply_to)
        self._lose(unclear)
        return message

    async def _extend(self, kind: Call, to: Address, message: str, text: str) -> None:
        unclear = self._meet(kind)
        limits = self.capabilities.stream
        assert limits is not None
        await self._apply(to)
        if self._clock.monotonic() - self.open.get(message, -1e9) > limits.max_age_s:
            self.open.pop(message, None)
            raise StreamOver(f"message {message} is not in streaming state")
        whole = self.messages[message] + text
        if len(whole) > limits.max_text:
            raise NotDelivered(f"message {message} is too long")
        self._show(to, message, whole, kind == "close_stream")
        if kind == "close_stream":
            del self.open[message]
        self._lose(unclear)

    async def _apply(self, to: Address) -> None:
        await self._answer(await self._arrive(to))

    def _meet(self, kind: Call | str) -> AdapterError | None:
        self.kinds[kind] += 1
        if not self.trouble[kind]:
            return None
        error, applied = self.trouble[kind].popleft()
        if not applied:
            raise error
        return error

    def _lose(self, unclear: AdapterError | None) -> None:
        if unclear is not None:
            raise unclear

    def _measure(self, text: str) -> None:
        if len(text) > self.capabilities.max_text + self.room_for_marks:
            raise NotDelivered(f"{len(text)} characters are too many")


LOST = (OutcomeUncertain("502: it was applied"), True)
NEVER_CAME = (OutcomeUncertain("time-out: it was not applied"), False)
