"""Parts that talks share, the parts of each talk that stop its clock, and its files: in memory, read as those that
people send to a gateway.
"""

from __future__ import annotations

import heapq
import itertools
import mimetypes
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from gateway.assembly.parts import open_sandbox
from gateway.extensions.extension import LoadedExtensions, load_extensions
from gateway.settings.tree import Settings
from runtime.channels.mailbox import NoMailboxes, SeatLetter
from runtime.core.clock import LOOK_S
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, FileContent, FileHead, file_id
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.core.message import Attachment
from runtime.core.texts import Texts, load_texts
from runtime.llm.client import CompletionRequest, LLMClient, ModelCompletion, Usage
from runtime.sandbox.executor import CallOutcome, CodeSnippet, GuestError, HostCall, Sandbox, SnippetEvaluation
from runtime.sessions.features import NodePart
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.sessions import Commit

_SETTLE_ROUNDS = 30


class TalkClock:
    """Implements `runtime.core.clock.Clock`. Sleepers wake in the order of their times."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._passed_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, float, anyio.Event]] = []
        self._at_work = 0
        self._idle = anyio.Event()
        self._idle.set()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """No time of the talk passes meanwhile: a sandbox or a model is at work, as slowly as this machine lets it."""
        self._at_work += 1
        if self._at_work == 1:
            self._idle = anyio.Event()
        try:
            yield
        finally:
            self._at_work -= 1
            if self._at_work == 0:
                self._idle.set()

    async def runs(self) -> None:
        await self._idle.wait()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return self._passed_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s <= self._passed_s:
            await checkpoint()
            return
        woken = anyio.Event()
        sleeper = (monotonic_s, next(self._order), monotonic_s - self._passed_s, woken)
        heapq.heappush(self._sleepers, sleeper)
        try:
            await woken.wait()
        finally:
            if not woken.is_set():
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    def next_s(self, *, within_s: float) -> float | None:
        """When the first sleeper wakes, of those that wake within this time."""
        due_s = self._sleepers[0][0] if self._sleepers else None
        return due_s if due_s is not None and due_s <= self._passed_s + within_s else None

    def next_short_s(self, *, within_s: float) -> float | None:
        """The same, of those who sleep for a short time. Who waits for the calendar looks at it every LOOK_S."""
        short = [due_s for due_s, _, asked_s, _ in self._sleepers if asked_s <= within_s < LOOK_S]
        return min((due_s for due_s in short if due_s <= self._passed_s + within_s), default=None)

    async def pass_to(self, monotonic_s: float) -> None:
        """Let it be `monotonic_s`: who sleeps until then wakes, and does what it can do at once."""
        while self._sleepers and self._sleepers[0][0] <= monotonic_s:
            due_s, _, _, woken = heapq.heappop(self._sleepers)
            self._passed_s = max(self._passed_s, due_s)
            woken.set()
        self._passed_s = max(self._passed_s, monotonic_s)
        await settle()


async def settle() -> None:
    """Let everybody do what can be done at once."""
    for _ in range(_SETTLE_ROUNDS):
        await checkpoint()


class StoppingModel(LLMClient):
    """A model whose answers take no time of a talk."""

    def __init__(self, client: LLMClient, clock: TalkClock) -> None:
        self.model = client.model
        self._client = client
        self._clock = clock

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[ModelCompletion]:
        async with AsyncExitStack() as stack:
            with self._clock.stopped():
                completion = await stack.enter_async_context(self._client.stream(request))
            yield _StoppingCompletion(completion, self._clock)


class _StoppingCompletion:
    def __init__(self, completion: ModelCompletion, clock: TalkClock) -> None:
        self._completion = completion
        self._clock = clock

    @property
    def usage(self) -> Usage:
        return self._completion.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        pieces = aiter(self._completion)
        while True:
            with self._clock.stopped():
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece


class StoppingSandbox:
    """A sandbox whose work takes no time of a talk. Implements `runtime.sandbox.executor.Sandbox`."""

    def __init__(self, sandbox: Sandbox, clock: TalkClock) -> None:
        self._sandbox = sandbox
        self._clock = clock

    @asynccontextmanager
    async def evaluate(self, snippet: CodeSnippet, /) -> AsyncIterator[SnippetEvaluation]:
        async with AsyncExitStack() as stack:
            with self._clock.stopped():
                evaluation = await stack.enter_async_context(self._sandbox.evaluate(snippet))
            yield _StoppingEvaluation(evaluation, self._clock)


class _StoppingEvaluation:
    def __init__(self, evaluation: SnippetEvaluation, clock: TalkClock) -> None:
        self._evaluation = evaluation
        self._clock = clock

    async def start(self) -> None:
        with self._clock.stopped():
            await self._evaluation.start()

    async def resolve(self, number: int, outcome: CallOutcome, /) -> None:
        with self._clock.stopped():
            await self._evaluation.resolve(number, outcome)

    def take_calls(self) -> Sequence[HostCall]:
        return self._evaluation.take_calls()

    @property
    def ended(self) -> bool:
        return self._evaluation.ended

    @property
    def error(self) -> GuestError | None:
        return self._evaluation.error

    @property
    def kept(self) -> Mapping[str, Any]:
        return self._evaluation.kept


class TalkSeats(NoMailboxes, NodePart):
    """Takes the letters for participants in other processes; `on_letter` hears of each, with the participant's name."""

    def __init__(self, on_letter: Callable[[str, str], None]) -> None:
        self.mailboxes = self
        self._on_letter = on_letter
        self._letters: dict[str, list[SeatLetter]] = {}

    async def put(self, participant: str, letter: SeatLetter, /) -> bool:
        self._letters.setdefault(participant, []).append(letter)
        self._on_letter(participant, str(letter.content.get("text", "")))
        return True

    def answered(self, participant: str, text: str, number: str) -> list[SeatAct]:
        """What a participant does that answers its last letter: it has read all letters, and says the text to who wrote
        it. Nothing before its first letter."""
        letters = self._letters.get(participant, [])
        if not letters:
            return []
        last = letters[-1]
        sender = last.content["from"]
        to = f"person {sender['id']}" if sender["human"] else f"agent {sender['id']}"
        if last.content.get("meeting"):
            to = f"meeting {last.content['meeting']}"
        read = SeatAct(last.seat.id, "fetched", messages=tuple(letter.message for letter in letters))
        return [read, SeatAct(last.seat.id, "say", number, to=to, text=text)]


class TalkStore(MemorySessionStore):
    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self.stirred = anyio.Event()
        self.latest: SessionId | None = None
        self.ended = False

    def stir(self) -> None:
        """Everything that waits looks again."""
        stirred, self.stirred = self.stirred, anyio.Event()
        stirred.set()

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        self.latest, self.ended = commit.session, self.ended or commit.end
        self.stir()


class TalkStage(Struct, frozen=True):
    settings: Settings
    sandbox: Sandbox
    extensions: LoadedExtensions
    texts: Texts


@asynccontextmanager
async def open_stage(settings: Settings) -> AsyncIterator[TalkStage]:
    """A stage for talks. Raises ConfigError for extensions and texts that cannot be used."""
    async with AsyncExitStack() as stack:
        sandbox = _SandboxWhenNeeded(settings, stack)
        texts = load_texts(settings.language, settings.texts_dir)
        yield TalkStage(settings, sandbox, load_extensions(settings.extensions.modules), texts)


class _SandboxWhenNeeded:
    """A sandbox whose workers start with the first statement of a model: most talks have none."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self._opening = anyio.Lock()
        self._opened: Sandbox | None = None

    @asynccontextmanager
    async def evaluate(self, snippet: CodeSnippet, /) -> AsyncIterator[SnippetEvaluation]:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(open_sandbox(self._settings))
        async with self._opened.evaluate(snippet) as evaluation:
            yield evaluation


class TalkFiles:
    """The files of one talk. Implements `runtime.core.files.FileStore`."""

    def __init__(self) -> None:
        self._kept: dict[str, FileContent] = {}

    async def keep(
        self, data: bytes, media_type: str, /, *, person: str | None = None, conversation: str | None = None
    ) -> str:
        id_ = file_id(data, media_type)
        self._kept[id_] = FileContent(media_type, data)
        return id_

    async def attach(self, id_: str, conversation: str, /) -> None:
        """See `FileStore`: everything stays until the talk is over."""

    async def head(self, id_: str, /) -> FileHead | None:
        found = self._kept.get(id_)
        return None if found is None else FileHead(found.media_type, len(found.data))

    async def content(self, id_: str, /) -> FileContent | None:
        return self._kept.get(id_)

    async def sent(self, path: Path) -> Mapping[str, Any]:
        """A file that a person of the talk sends, as an event has it. Raises OSError."""
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        file = anyio.Path(path)
        size_bytes = (await file.stat()).st_size
        url = "" if size_bytes > MAX_FILE_BYTES else FILE_URL + await self.keep(await file.read_bytes(), media_type)
        return plain_data(Attachment(path.name, media_type, url, size_bytes))
