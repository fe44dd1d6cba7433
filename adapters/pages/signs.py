"""Signs beside pages: the typing indicator, the status message that follows when an agent works for long, and our marks
on people's messages.

Status messages are recorded, so that the next process can remove them after a crash. Of marks the newest of a message
wins, one call at a time.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from adapters.adapter import (
    Adapter,
    Call,
    CanDelete,
    CanEdit,
    CanEndTyping,
    CanReact,
    CanShowTask,
    CanShowTyping,
    CountsByMethod,
    KnowsWork,
)
from adapters.capabilities import Draws
from adapters.pacing.constants import TYPING_EARLY_S, TYPING_LINGERS_S
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.recent import RecentValues
from adapters.records import Records, what_can_be_read
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, StorageUnavailable
from runtime.core.json_text import plain_data
from runtime.core.message import Mark

NOTE_AFTER_S = 10.0
"""Seconds of work without visible text until a status message explains it, and between its changes. Chosen."""
NOTE_AGAIN_S = 2.0
"""The time after which a status message that had no room beside other calls is tried again, in seconds. Chosen."""
REFUSING_MAX = 1000
OnDone = Callable[[bool], None]
"""Hears that the newest mark of a message was set or refused (True), or could not be tried (False)."""
OnRefused = Callable[[Address, Mark | None], None]
"""Hears that a conversation refused a mark, so that words can replace it."""


class Note(Struct, frozen=True):
    """A posted status message; `message` is its id on the platform."""

    address: Address
    speaker: Speaker
    message: str


class StatusMessages(Struct, frozen=True):
    """Status messages of all nodes; each looks after its own. Without a store one may stay for good."""

    records: Records
    node: str

    async def keep(self, note: Note) -> None:
        with suppress(StorageUnavailable):
            await self.records.put(self._name(note), json.dumps(plain_data(note), ensure_ascii=False))

    async def forget(self, note: Note) -> None:
        with suppress(StorageUnavailable):
            await self.records.remove(self._name(note))

    async def left(self) -> Sequence[Note]:
        """The status messages that an earlier process of this node did not remove. Raises StorageUnavailable."""
        kept = await self.records.all()
        own = {name: value for name, value in kept.items() if name.startswith(f"{self.node}/")}
        return list(what_can_be_read(own, _read).values())

    def _name(self, note: Note) -> str:
        return f"{self.node}/{note.address.key}/{note.message}"


class _Work(Struct):
    """The work of one speaker in one conversation. `quiet_since`: the time since which nothing became visible."""

    address: Address
    speaker: Speaker
    scope: anyio.CancelScope
    quiet_since: float
    doing: str | None = None
    note: str | None = None
    noted: str | None = None
    nonce: str = ""

    def standing(self, note: str) -> Note:
        return Note(self.address, self.speaker, note)


class TypingIndicator:
    """Keeps the typing sign up while somebody works on an answer. Draws from the conversation's bucket, after text.

    Where the sign cannot say what is done, or the platform has cards for it, a small message of its own does, if
    messages can be deleted: it goes as soon as something of the answer is visible (`seen`) or the work stops; `open`
    takes away those that a crash left.
    """

    def __init__(
        self, adapter: Adapter, scheduler: EditScheduler, clock: Clock, tasks: TaskGroup, notes: StatusMessages
    ) -> None:
        self._adapter = adapter
        self._scheduler = scheduler
        self._clock = clock
        self._tasks = tasks
        self._notes = notes
        self._active: dict[tuple[str, str], _Work] = {}
        able = adapter.capabilities
        self._cards = adapter if isinstance(adapter, CanShowTask) else None
        explains = able.deletes and able.edits and (self._cards is not None or not able.status_text)
        self._editor = adapter if explains and isinstance(adapter, CanEdit) else None
        self._deleter = adapter if explains and isinstance(adapter, CanDelete) else None

    async def open(self) -> None:
        """Remove, in the background, status messages that an earlier process left. Raises StorageUnavailable."""
        for note in await self._notes.left():
            self._tasks.start_soon(self._withdraw, note)

    def set(self, address: Address, speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        """The speaker works on an answer, or has stopped; `doing` says on what. Never blocks."""
        who = (address.key, speaker.id)
        work = self._active.get(who)
        if isinstance(self._adapter, KnowsWork):
            self._adapter.works(address, speaker, active)
        if not active:
            if work is not None:
                del self._active[who]
                work.scope.cancel()
        elif work is not None:
            work.doing = doing
        else:
            work = _Work(address, speaker, anyio.CancelScope(), self._clock.monotonic(), doing)
            self._active[who] = work
            self._tasks.start_soon(self._follow, work)

    def seen(self, address: Address, speaker: Speaker, /) -> None:
        work = self._active.get((address.key, speaker.id))
        if work is not None:
            work.quiet_since = self._clock.monotonic()
            if work.note is not None:
                self._tasks.start_soon(self._withdraw, work.standing(work.note))
                work.note = work.noted = None

    async def _follow(self, work: _Work) -> None:
        try:
            with work.scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._repeat, work)
                    if self._editor is not None and self._deleter is not None:
                        tasks.start_soon(self._explain, work, self._editor)
        finally:
            if work.note is not None:
                self._tasks.start_soon(self._withdraw, work.standing(work.note))
            if isinstance(self._adapter, CanEndTyping):
                self._tasks.start_soon(self._end, work, self._adapter)

    async def _end(self, work: _Work, adapter: CanEndTyping) -> None:
        """Remove the indicator, unless the speaker continues meanwhile."""
        await self._clock.sleep_until(self._clock.monotonic() + TYPING_LINGERS_S)
        if (work.address.key, work.speaker.id) in self._active:
            return
        with suppress(AdapterError):  # it vanishes by itself
            await self._spare(work, partial(adapter.end_typing, work.address, work.speaker), "typing")

    async def _repeat(self, work: _Work) -> None:
        adapter = self._adapter
        lasts_s = adapter.capabilities.typing_lasts_s
        if not isinstance(adapter, CanShowTyping) or lasts_s is None:
            return
        while True:
            with suppress(AdapterError):  # nobody misses a sign, and the bucket has taken note
                call = partial(adapter.typing, work.address, work.speaker, doing=work.doing)
                await self._spare(work, call, "typing")
            await self._clock.sleep_until(self._clock.monotonic() + max(1.0, lasts_s - TYPING_EARLY_S))

    async def _explain(self, work: _Work, editor: CanEdit) -> None:
        while True:
            due_at = work.quiet_since + NOTE_AFTER_S
            if self._clock.monotonic() < due_at:
                await self._clock.sleep_until(due_at)
                continue
            again_s = NOTE_AFTER_S
            if work.doing and work.doing != work.noted:
                with suppress(AdapterError):  # nobody misses a note, and the bucket has taken note
                    if not await self._note(work, editor, work.doing):
                        again_s = NOTE_AGAIN_S
            await self._clock.sleep_until(self._clock.monotonic() + again_s)

    async def _note(self, work: _Work, editor: CanEdit, doing: str) -> bool:
        """Show what is done; False where other calls leave no room now."""
        text = f"*{doing}*"
        if work.note is not None:
            call = partial(self._change, work, editor, work.note, text, doing)
            if made := await self._spare(work, call, "edit"):
                work.noted = doing
            return made
        work.nonce = work.nonce or f"note-{uuid.uuid4().hex}"
        return await self._spare(work, partial(self._begin, work, text, doing), "send")

    async def _change(self, work: _Work, editor: CanEdit, note: str, text: str, doing: str) -> None:
        if self._cards is not None:
            await self._cards.show_task(work.address, doing, speaker=work.speaker, nonce=work.nonce, card=note)
        else:
            await editor.edit(work.address, note, text, speaker=work.speaker, nonce=work.nonce, final=False)

    async def _begin(self, work: _Work, text: str, doing: str) -> None:
        """Post the status message. It is removed at once if the answer is visible by then."""
        began_at = work.quiet_since
        with anyio.CancelScope(shield=True):
            if self._cards is not None:
                note = await self._cards.show_task(work.address, doing, speaker=work.speaker, nonce=work.nonce)
            else:
                note = await self._adapter.send(
                    work.address, text, speaker=work.speaker, nonce=work.nonce, final=False, reply_to=None
                )
        work.nonce = ""
        self._tasks.start_soon(self._notes.keep, work.standing(note))
        if work.quiet_since == began_at:
            work.note, work.noted = note, doing
        else:
            self._tasks.start_soon(self._withdraw, work.standing(note))

    async def _withdraw(self, note: Note) -> None:
        if self._deleter is None:
            return
        key, budget = self._adapter.budget(note.address)
        call = partial(self._deleter.delete, note.address, note.message, speaker=note.speaker)
        with suppress(AdapterError):  # it stays, and nothing more can be done about it
            await self._scheduler.make(
                key, budget, call, draws=_draws(self._adapter, note.address, "delete", note.speaker)
            )
            await self._notes.forget(note)

    async def _spare(self, work: _Work, call: Callable[[], Awaitable[None]], kind: Call) -> bool:
        key, budget = self._adapter.budget(work.address)
        return await self._scheduler.spare(
            key, budget, call, draws=_draws(self._adapter, work.address, kind, work.speaker)
        )


class PlatformReactions:
    """The marks of one platform.

    In a conversation they have a bucket of their own, as large as that of its texts, so that no mark waits for text;
    when texts have to pause, marks pause as well.
    """

    def __init__(self, adapter: Adapter, scheduler: EditScheduler, tasks: TaskGroup) -> None:
        self._adapter = adapter
        self._scheduler = scheduler
        self._tasks = tasks
        self._reactor = adapter if adapter.capabilities.reactions and isinstance(adapter, CanReact) else None
        self._wanted: dict[tuple[str, str], Mark | None] = {}
        self._waiting: dict[tuple[str, str], list[OnDone]] = {}
        self._refusing = RecentValues[str, bool](REFUSING_MAX)

    def put(self, address: Address, message: str, mark: Mark | None, on_refused: OnRefused, on_done: OnDone, /) -> bool:
        """Set or remove our mark, without waiting; False where marks are impossible, or were refused before."""
        if self._reactor is None or address.key in self._refusing:
            return False
        key = (address.key, message)
        shows = key in self._wanted
        self._wanted[key] = mark
        self._waiting.setdefault(key, []).append(on_done)
        if not shows:
            self._tasks.start_soon(self._show, self._reactor, address, message, on_refused)
        return True

    async def _show(self, reactor: CanReact, address: Address, message: str, on_refused: OnRefused) -> None:
        key = (address.key, message)
        shown: list[Mark | None] = []
        kept = False

        async def call() -> None:
            mark = self._wanted[key]
            await reactor.react(address, message, mark)
            shown[:] = [mark]

        try:
            with suppress(AdapterError):  # the message is gone, or our token: a mark that is missing harms nobody
                while shown != [self._wanted[key]]:
                    if not await self._make(address, call):
                        self._refusing.keep(address.key, True)
                        on_refused(address, self._wanted[key])
                        break
                kept = True
        finally:
            del self._wanted[key]
            for on_done in self._waiting.pop(key):
                on_done(kept)

    async def _make(self, address: Address, call: Callable[[], Awaitable[None]]) -> bool:
        key, budget = self._adapter.budget(address)
        if not self._scheduler.paused(key, budget):
            key = f"{key}:marks"
        return await self._scheduler.make(key, budget, call, draws=_draws(self._adapter, address, "react"))


def _draws(adapter: Adapter, to: Address, call: Call, speaker: Speaker | None = None) -> Draws | None:
    return adapter.draws(to, call, speaker=speaker) if isinstance(adapter, CountsByMethod) else None


def _read(value: str) -> Note:
    data = json.loads(value)
    return Note(Address(**data["address"]), Speaker(**data["speaker"]), data["message"])
