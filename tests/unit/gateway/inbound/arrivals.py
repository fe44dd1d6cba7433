"""What people do, made for tests, and a door that it arrives at."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from adapters.adapter import Adapter, Inbound
from gateway.access.admission import AccessRules, PlatformAccess, PlatformOwners
from gateway.access.people import KnownPeople, OwnerNotices, Role
from gateway.feature import EntrancePart
from gateway.features.memories.books import Memories, Silence
from gateway.features.memories.node import MemoryCommand
from gateway.features.reports.decisions import CHOICES, Decisions, Outcome
from gateway.features.usage.ledger import Ledger
from gateway.features.voice.speech import VoiceCommand
from gateway.inbound.earlier import HeardPlaces
from gateway.inbound.entrance import CommandAnswer, ConversationOrigins, Entrance, GivenCommand
from gateway.inbound.late import LateMessages
from gateway.inbound.router import InboundRouter
from gateway.inbound.routing import Route, Routes
from gateway.inbound.usage_limits import UsageLimits
from gateway.settings.operation import LimitSettings
from runtime.bus import Bus
from runtime.core.address import Address, Speaker
from runtime.core.message import Choice, Mark
from runtime.core.texts import english
from runtime.stores.inbox import InboxEvent
from tests.fakes.clock import FakeClock
from tests.fakes.memory.counters import MemoryCounters
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.memory.usage import MemoryUsage
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import make_capabilities

NOW = FakeClock().now()
CAN_OPEN = replace(make_capabilities(), threads=True)
TEXTS = english()


def event(text: str = "hi", *, person: str = "42", chat: str = "1", command: str | None = None, **more: Any) -> Inbound:
    """Something that Ada, or `person`, does in a private chat."""
    fields = {"private": True, "addressed": True, "thread": None, "id": f"e.{text}", "message_id": "m1", **more}
    address = Address(fields.pop("platform", "test"), chat, fields.pop("thread"))
    id_ = fields.pop("id")
    return Inbound(address, id_, f"{address.platform}:{person}", "Ada", text, NOW, command=command, **fields)


def people(clock: FakeClock | None = None, **roles: Role) -> KnownPeople:
    """Who has a role already: `_42=Role.MEMBER` is test:42."""
    table = {f"test:{name.strip('_')}": f'{{"role":"{role.word}","name":""}}' for name, role in roles.items()}
    return KnownPeople(MemoryRecords(table), MemoryRecords(), MemoryRecords(), clock or FakeClock())


async def opened(
    mode: Any = "pairing", store: KnownPeople | None = None, clock: FakeClock | None = None, **rules: Any
) -> PlatformAccess:
    """The access of the platform "test"."""
    clock = clock or FakeClock()
    access = PlatformAccess("test", AccessRules(mode, **rules), store or people(clock), clock)
    await access.open()
    return access


class Kept:
    """An inbox. `fault` is raised instead of keeping."""

    def __init__(self) -> None:
        self.events: list[InboxEvent] = []
        self.fault: Exception | None = None

    async def add(self, kept: InboxEvent, /) -> bool:
        if self.fault is not None:
            raise self.fault
        self.events.append(kept)
        return True


ONE = Routes([Route("one", (Path("one.pb"),))])


class Decided(Decisions):
    """Notes what owners have decided about reports."""

    def __init__(self) -> None:
        self.all: list[tuple[str, int]] = []

    async def again(self, number: int) -> Outcome:
        self.all.append(("again", number))
        return "again"

    async def leave(self, number: int) -> Outcome:
        self.all.append(("leave", number))
        return "left"


async def nothing_to_reload(given: GivenCommand) -> CommandAnswer:
    """The answer to /reload where nothing has changed."""
    return CommandAnswer(given.texts("reload.nothing"))


class Door:
    """A router with what it keeps, says and marks."""

    def __init__(
        self,
        access: PlatformAccess,
        *,
        routes: Routes = ONE,
        store: KnownPeople | None = None,
        limits: Mapping[str, float] | None = None,
        clock: FakeClock | None = None,
        command_mark: str = "/",
        tells_alone: bool = False,
        late: LateMessages | None = None,
        takes_feedback: bool = True,
        answers_alone: bool = False,
    ) -> None:
        clock = clock or FakeClock()
        self._answers_alone = answers_alone
        self.inbox = Kept()
        self.told: list[tuple[str, str]] = []
        self.alone: list[tuple[str, str, str]] = []
        self.deleted: list[str] = []
        self.offered: list[Choice] = []
        self.otherwise: list[str | None] = []
        self.marks: list[tuple[str, Mark | None]] = []
        self.chosen = MemoryRecords()
        self.origins = ConversationOrigins(MemoryRecords(), self.chosen)
        self.places = HeardPlaces(MemoryPlaceStore())
        self.owner_places = MemoryRecords()
        self.decisions = Decided()
        self.usage = MemoryUsage()
        self.bus = Bus(clock)
        self.memories = MemoryMemories()
        self.silence = Silence(MemoryRecords())
        remembered = Memories(self.memories, clock, {"one": True}.get, self.silence)
        known = store or people(clock)
        settings = LimitSettings.model_validate({"message_chars": 20, **(limits or {})})
        self.limits = UsageLimits(settings, MemoryCounters(clock), PlatformOwners(known, {}).has, TEXTS, clock)
        self.entrance = entrance = Entrance(
            inbox=cast("Any", self.inbox),
            outbound=self,
            bus=self.bus,
            texts=TEXTS,
            routes=routes,
            origins=self.origins,
            limits=self.limits,
            owners=OwnerNotices(
                self.owner_places, PlatformOwners(known, {}).has, cast("Any", self.inbox), {"test": TEXTS}, clock
            ),
            places=self.places,
            features=EntrancePart(
                {
                    "reload": nothing_to_reload,
                    "usage": Ledger(self.usage, clock).answer,
                    "memory": MemoryCommand(remembered).answer,
                    "voice": VoiceCommand(MemoryRecords(), speaks=True).answer,
                },
                {CHOICES: self.decisions.chosen},
                rates=takes_feedback,
            ),
        )
        shape: dict[str, Any] = {"name": "test", "capabilities": replace(CAN_OPEN, command_mark=command_mark)}
        shape["delete"] = self._delete
        if tells_alone:
            shape["tell_alone"] = self.say
        adapter = cast("Adapter", type("Named", (), shape)())
        self.router = InboundRouter(adapter, access, entrance, late)
        self.admits = self.router.admits

    async def take(self, *events: Inbound) -> None:
        """Let these arrive."""
        for each in events:
            await self.router.take(each)

    @property
    def said(self) -> list[str]:
        """What was said, wherever."""
        return [text for _, text in self.told]

    @property
    def kept(self) -> Sequence[tuple[str, str, str]]:
        """Kind, text and program of what is in the inbox."""
        return [(kept.kind, kept.text, kept.program) for kept in self.inbox.events]

    async def _delete(self, _to: Address, message: str, /, *, speaker: Speaker) -> None:
        self.deleted.append(message)

    def tell_alone(self, to: Address, person: str, text: str, /) -> None:
        """See `SpeaksOutside`."""
        self.alone.append((to.key, person, text))

    def answer(self, to: Address, person: str, text: str, otherwise: str | None = None, /) -> None:
        """See `SpeaksOutside`; without `answers_alone` everybody reads it."""
        if self._answers_alone:
            self.tell_alone(to, person, text)
            self.otherwise.append(otherwise)
        else:
            self.told.append((to.key, text if otherwise is None else otherwise))

    def mark(self, _to: Address, message: str, mark: Mark | None, /) -> None:
        """See `SpeaksOutside`."""
        self.marks.append((message, mark))

    async def say(self, to: Address, text: str, choices: Sequence[Choice] = (), /) -> None:
        self.told.append((to.key, text))
        self.offered += choices
