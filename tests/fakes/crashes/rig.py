"""Processes that die at chosen points, over real stores and a real presenter on a platform of any kind.

A point is where something leaves the process, or has just left it. At each one of three things may happen: the process
dies, an answer is lost after the deed, or the deed is refused and nobody knows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from adapters.capabilities import Budget, Capabilities, PreviewLimits, StreamLimits
from adapters.markdown.closing import MARKS_MAX
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.presenter import PagePresenter
from runtime.bus import Bus
from runtime.channels.outbox import Done, LivePage, unheard
from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError, MessageGone, OutcomeUncertain, StorageUnavailable, StreamOver
from runtime.core.message import Mark
from runtime.core.page import PageRecord, PageSpec
from runtime.events.happening import Happening
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.sandbox.executor import Sandbox
from runtime.sessions.node_context import Busy, NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.inbox import InboxEntry, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder
from runtime.tape.tape import Fact
from tests.fakes.crashes.world import Crash, TurboClock, event_of, surroundings
from tests.fakes.files_and_voices import with_files
from tests.fakes.people.player import Player, WatchedMailboxes
from tests.fakes.platforms.rich_platform import RichPlatform, rich_capabilities

Fault = Literal["die", "lose", "refuse"]

ADDRESS = Address("fake", "1")
SHARD = shard_of(ADDRESS.key)
NODE = LeaseHolder("node")

FAR_S = 300.0

_FAST = Budget(rate_per_s=50.0, burst=50)
_STREAM = StreamLimits(max_age_s=1e9, max_text=4000, append=_FAST, opening=_FAST, worth_chars=10)


def _kind(*, stream: bool = False, draft: bool = False, max_text: int = 400, **more: Any) -> Capabilities:
    made = rich_capabilities(
        stream=_STREAM if stream else None, preview=PreviewLimits(20.0) if draft else None, max_text=max_text
    )
    return replace(made, private_budget=_FAST, group_budget=_FAST, total_budget=_FAST, **more)


PLATFORMS: Mapping[str, Capabilities] = {
    "edits": _kind(),
    "parts": _kind(max_text=12),
    "streams": _kind(stream=True),
    "streams in parts": _kind(stream=True, max_text=12),
    "streams, no edits": _kind(stream=True, edits=False),
    "drafts": _kind(draft=True),
    "no edits": _kind(edits=False),
    "no edits, in parts": _kind(edits=False, max_text=12),
    "no nonce": _kind(idempotent_send=False),
}
"""Kinds of platforms: what one can do decides how a page is gone on with after a crash."""


class RigClock(TurboClock):
    """Time that passes as soon as somebody waits for it, but for what is far away."""

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s - self.monotonic() > FAR_S:
            await anyio.sleep_forever()
        await super().sleep_until(monotonic_s)


@dataclass
class Rig:
    """What outlives the processes: the stores, the platform, the people, and the plan of what goes wrong where."""

    people: list[str]
    capabilities: Capabilities
    plan: Mapping[int, Fault] = field(default_factory=dict)
    idle_s: float = 900.0

    def __post_init__(self) -> None:
        self.clock = RigClock()
        self.leases = MemoryLeaseStore(self.clock)
        self.inbox = WatchedInbox(self)
        self.store = FaultyStore(self, self.leases, self.inbox)
        self.platform = FaultyPlatform(self)
        self.mailboxes = WatchedMailboxes(self._post)
        self.player = Player(self.mailboxes, lambda _content: (), self.inbox, self.clock)
        self.points = self.deaths = 0
        self.met: Counter[Fault] = Counter()
        self.boundaries: list[str] = []
        """What each point is."""
        self.died: list[str] = []
        """Those at which a process died."""
        self.facts: list[Fact] = []
        self.offered: list[PageSpec] = []
        self.events: Counter[str] = Counter()
        self.idle = anyio.Event()
        self.threads: dict[str, Address] = {}
        """What was opened, by the nonces."""
        self.unrecorded: set[str] = set()
        """Messages that the platform had, and no fact named, when a process died."""
        self._arrived = 0
        self._dead = False

    def point(self, what: str, *, applied: bool) -> Fault | None:
        """Something is about to leave the process, or has; what goes wrong with it."""
        if self._dead:
            raise Crash
        self.points += 1
        boundary = f"{'after' if applied else 'before'} {what}"
        self.boundaries.append(boundary)
        fault = self.plan.get(self.points)
        if fault is None or (fault == "lose") != applied:
            fault = None if fault is None else "die"
        if fault is not None:
            self.met[fault] += 1
        if fault == "die":
            self._dead = True
            self.deaths += 1
            self.died.append(boundary)
            recorded = {fact.data["pid"] for fact in self.facts if fact.kind == "sent"}
            self.unrecorded |= self.platform.messages.keys() - recorded
            raise Crash
        return fault

    def revive(self) -> None:
        """A new process begins."""
        self._dead = False

    @property
    def hurried(self) -> bool:
        """Whether the next thing is done while the agents are at work."""
        return bool(self.people) and self.people[0].startswith("!")

    async def arrive(self) -> bool:
        """Let the next person do something; False when all was done."""
        if not self.people:
            return False
        self._arrived += 1
        does = self.people.pop(0).removeprefix("!")
        if does.startswith("reaction:"):
            kind, about, mark = does.split(":")
            does = f"{kind}:{self.platform.known[int(about)]}:{mark}"
        self.idle = anyio.Event()
        await self.inbox.add(event_of(str(self._arrived), does, self.clock.now(), self.offered, ADDRESS))
        return True

    async def waiting(self) -> Sequence[InboxEntry]:
        """What no session has taken."""
        return await self.inbox.read({SHARD: "0"}, wait_s=0.0)

    async def rested(self) -> None:
        """Say so when nothing is going on."""
        if not await self.store.unfinished(SHARD) and not await self.waiting() and not self.mailboxes.waiting_now:
            self.idle.set()

    def _post(self, applied: bool) -> None:
        if self.point("letter", applied=applied):
            raise StorageUnavailable("whether the letter is in the mailbox nobody knows")


def thread_in_shard(number: int) -> str:
    """The name of the so-manieth thread of the conversation that is in its shard."""
    names = (f"t{n}" for n in range(1, 100_000))
    in_shard = (name for name in names if shard_of(replace(ADDRESS, thread=name).key) == SHARD)
    return next(islice(in_shard, number - 1, None))


class WatchedInbox(MemoryInbox):
    """Says when something that needs no session is gone."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.leases)
        self._rig = rig

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        await super().dismiss(entry, token)
        await self._rig.rested()


class FaultyStore(MemorySessionStore):
    """Commits may not be applied, or their answers may be lost."""

    def __init__(self, rig: Rig, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self._rig = rig

    async def commit(self, commit: Commit, /) -> None:
        await checkpoint()
        what = f"commit of {commit.facts[-1].kind}" if commit.facts else "commit"
        if self._rig.point(what, applied=False):
            raise StorageUnavailable("the commit was not applied")
        await super().commit(commit)
        self._rig.facts += commit.facts
        if self._rig.point(what, applied=True):
            raise StorageUnavailable("the commit was applied, and its answer is lost")
        await self._rig.rested()


class FaultyPlatform(RichPlatform):
    """Calls may not arrive, or their answers may be lost."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.clock, rig.capabilities)
        self._rig = rig
        self.faults.latency_s = (0.0, 0.0)
        self.room_for_marks = MARKS_MAX
        self.gone: set[str] = set()
        self._call = ""
        self.seen: dict[str, list[list[str]]] = {}
        """What people saw of each page after each call: the texts of its messages, and that of its draft."""
        self._drafts: dict[str, str] = {}

    def _meet(self, kind: Any) -> AdapterError | None:
        self._call = str(kind)
        if self._rig.point(self._call, applied=False):
            raise OutcomeUncertain("time-out: it was not applied")
        return super()._meet(kind)

    def _lose(self, unclear: AdapterError | None) -> None:
        super()._lose(unclear)
        if self._rig.point(self._call, applied=True):
            raise OutcomeUncertain("502: it was applied")

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        message = await super().send(to, text, speaker=speaker, nonce=nonce, final=final, reply_to=reply_to)
        self.open.pop(message, None)
        if final and self.messages[message] != text:  # it was posted with an earlier text
            await self.edit(to, message, text, speaker=speaker, nonce=nonce, final=True)
        return message

    async def open_stream(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        if nonce in self._by_nonce:
            raise StreamOver("there is a message of this nonce; it is gone on with by edits")
        return await super().open_stream(to, text, speaker=speaker, nonce=nonce, reply_to=reply_to)

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        if message in self.gone:
            raise MessageGone(f"message {message} was taken away")
        await super().edit(to, message, text, speaker=speaker, nonce=nonce, final=final)

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        unclear = self._meet("delete")
        await self._apply(to)
        self.gone.add(message)
        self._note_seen(message)
        self._lose(unclear)

    async def preview(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> None:
        await super().preview(to, text, speaker=speaker, nonce=nonce)
        page = nonce.rpartition(".")[0]
        self._drafts[page] = text
        self.seen.setdefault(page, []).append(self._visible(page))

    def _show(self, to: Address, message: str, text: str, final: bool) -> None:
        is_new = message not in self.messages
        super()._show(to, message, text, final)
        self._note_seen(message, is_new=is_new)

    def _note_seen(self, message: str, *, is_new: bool = False) -> None:
        page = next(nonce for nonce, known in self._by_nonce.items() if known == message).rpartition(".")[0]
        if is_new:
            self._drafts.pop(page, None)
        self.seen.setdefault(page, []).append(self._visible(page))

    def _visible(self, page: str) -> list[str]:
        """The texts of a page's messages, in their order, and of its draft."""
        split = ((nonce.partition("+")[0].rpartition("."), message) for nonce, message in self._by_nonce.items())
        parts = sorted((int(number), message) for (of, _, number), message in split if of == page)
        texts = ["" if message in self.gone else self.messages[message] for _, message in parts]
        return [*texts, self._drafts[page]] if page in self._drafts else texts

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """One that stands in the same shard; known by its nonce everywhere."""
        if self._rig.point("thread", applied=False):
            raise OutcomeUncertain("time-out: it was not applied")
        opened = self._rig.threads.setdefault(nonce, replace(to, thread=thread_in_shard(len(self._rig.threads) + 1)))
        if self._rig.point("thread", applied=True):
            raise OutcomeUncertain("502: it was applied")
        return opened

    async def link(self, _to: Address, /) -> str | None:
        return None

    @property
    def pages(self) -> list[str]:
        """What people see of each page, in the order of their first messages; parts are put together."""
        found: dict[str, list[str]] = {}
        parts = sorted((int(message), nonce.rsplit(".", 1)) for nonce, message in self._by_nonce.items())
        for message, (page, _) in parts:
            found.setdefault(page, []).append("" if str(message) in self.gone else self.messages[str(message)])
        return [" ".join(" ".join(texts).split()) for texts in found.values()]

    @property
    def known(self) -> list[str]:
        """Messages that belong to a page, in their order."""
        return sorted(self._by_nonce.values(), key=int)

    @property
    def orphans(self) -> list[str]:
        """Messages that nobody knows any more."""
        known = set(self.known)
        return [text for message, text in self.messages.items() if message not in known]


class RigOutbox:
    """The outbox of one process."""

    def __init__(self, rig: Rig, tasks: TaskGroup) -> None:
        self._rig = rig
        self._tasks = tasks
        scheduler = EditScheduler(_FAST, rig.clock, tasks)
        self._presenter = PagePresenter(rig.platform, scheduler, rig.clock, on_event=self._hear, tasks=tasks)

    def _hear(self, what: Happening) -> None:
        self._rig.events[what.name] += 1

    def page(self, spec: PageSpec, record: PageRecord, /) -> LivePage:
        if spec.choices:
            self._rig.offered.append(spec)
        return self._presenter.page(spec, record)

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        assert doing != ""

    def mark(self, _address: Address, _message: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        self._tasks.start_soon(_call, done)
        return True

    def settle(self, page: PageSpec, text: str, chosen: str, /, *, done: Done = unheard) -> None:
        self._tasks.start_soon(self._settle, page, text, chosen, done)

    async def _settle(self, page: PageSpec, text: str, chosen: str, done: Done) -> None:
        await self._presenter.settle(page, text, chosen)
        done(True)

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        return await self._presenter.open_thread(to, title, nonce)

    async def private_with(self, _to: Address, _person: str, /) -> Address | None:
        return None

    async def link(self, _to: Address, /) -> str | None:
        return None


async def _call(done: Done) -> None:
    done(True)


async def live(rig: Rig, program: Program, llm: LLMClient, sandbox: Sandbox, *, busy: Busy, **more: Any) -> None:
    """Run processes one after the other, each until it dies, until everybody was heard and nothing is going on.

    `more` are fields of the surroundings.
    """
    while True:
        rig.revive()
        try:
            if await _process(rig, program, llm, sandbox, busy=busy, **more):
                return
        except BaseExceptionGroup as group:
            rest = group.split(Crash)[1]
            if rest is not None:
                raise rest from None
        except Crash:
            pass


async def _process(rig: Rig, program: Program, llm: LLMClient, sandbox: Sandbox, **more: Any) -> bool:
    bus = Bus(rig.clock)
    failures: list[BaseException] = []
    bus.subscribe("session.failed", lambda event: failures.append(event.data["cause"]))
    token = await rig.leases.acquire(f"shard:{SHARD}", NODE)
    assert token is not None
    lease = Lease(SHARD, token)
    more["busy"] = {program.name: more["busy"]}
    async with anyio.create_task_group() as tasks:
        outbox = RigOutbox(rig, tasks)
        more = with_files({"mailboxes": rig.mailboxes, "idle_s": rig.idle_s, **more}, llm, bus)
        around = NodeContext(
            {program.name: program},
            rig.store,
            outbox,
            sandbox,
            llm,
            bus,
            **surroundings(more),
        )
        rig.player.done = rig.rested
        tasks.start_soon(rig.player.run)
        registry = ConversationRegistry(around, rig.inbox, tasks)
        rig.idle = anyio.Event()
        await registry.gained(lease)
        doorstep = _Doorstep(rig, registry, lease)
        tasks.start_soon(doorstep.run)
        while True:
            await doorstep.hand_over()
            await _ready(rig, registry)
            odd = [failure for failure in failures if not isinstance(failure, StorageUnavailable)]
            if odd:
                raise odd[0]
            if not await rig.arrive():
                break
        tasks.cancel_scope.cancel()
    return True


class _Doorstep:
    """Brings everything that is in the inbox to its conversation, once."""

    def __init__(self, rig: Rig, registry: ConversationRegistry, lease: Lease) -> None:
        self._rig = rig
        self._registry = registry
        self._lease = lease
        self._seen = 0

    async def hand_over(self, wait_s: float = 0.0) -> None:
        for entry in await self._rig.inbox.read({SHARD: f"{self._seen}-0"}, wait_s=wait_s):
            number = int(entry.entry_id.partition("-")[0])
            if number > self._seen:
                self._seen = number
                self._registry.dispatch(entry, self._lease)

    async def run(self) -> None:
        """What sessions add, when it comes."""
        while True:
            await self.hand_over(wait_s=60.0)


async def _ready(rig: Rig, registry: ConversationRegistry) -> None:
    """Return when the next person may do something."""
    await rig.rested()
    while rig.hurried and not rig.idle.is_set():
        if rig.platform.messages or not len(registry):
            return
        await checkpoint()
    await rig.idle.wait()
