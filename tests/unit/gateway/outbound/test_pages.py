"""What goes out to a platform, as the sessions see it. Pages of clients' tasks are written down while they grow, not
too often, and not after their end.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from msgspec.structs import replace

from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.presenter import PagePresenter
from adapters.pages.signs import PlatformReactions
from gateway.inbound.entrance import ConversationOrigins
from gateway.outbound.pages import GROWS_S, AnswerPage, FollowedPage, NodeOutbound
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import CLIENT, GATEWAY, SCRATCH, Address
from runtime.core.errors import AdapterError, LeaseLost, NotDelivered, RateLimited
from runtime.core.page import PageSpec
from runtime.core.texts import english
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import TOTAL
from tests.fakes.platforms.marked_platform import MarkedPlatform

ROOM, OTHER = Address("fake", "42"), Address("fake", "43")


async def test_where_the_mark_on_a_waiting_message_is_refused_a_sentence_acknowledges_it() -> None:
    clock = FakeClock()
    platform = MarkedPlatform(clock)
    platform.markless.add("42")
    async with anyio.create_task_group() as tasks:
        scheduler = EditScheduler(TOTAL, clock, tasks)
        presenters, marks = (
            {"fake": PagePresenter(platform, scheduler, clock)},
            {"fake": PlatformReactions(platform, scheduler, tasks)},
        )
        outbound = NodeOutbound(
            presenters,
            {},
            marks,
            {"fake": english()},
            tasks,
            ConversationOrigins(MemoryRecords(), MemoryRecords()),
            clock,
        )
        assert outbound.mark(OTHER, "m", "queued")
        await clock.advance(2)
        assert (platform.marks, platform.messages) == ({"m": "queued"}, {})
        assert outbound.mark(ROOM, "m", "queued")
        await clock.advance(2)
        assert list(platform.messages.values()) == ["I am still working on something. Your message comes next."]
        assert not outbound.mark(ROOM, "n", "queued")
        assert not outbound.mark(Address("elsewhere", "1"), "m", "queued")
        tasks.cancel_scope.cancel()


class Whispering(MarkedPlatform):
    """Shows a text to one person, unless it refuses."""

    def __init__(self, clock: FakeClock, answers: Sequence[bool | AdapterError]) -> None:
        super().__init__(clock)
        self.answers = [*answers]
        self.whispered: list[tuple[str, str]] = []

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        answer = self.answers.pop(0)
        if isinstance(answer, AdapterError):
            raise answer
        if answer:
            self.whispered.append((person_id, text))
        return answer


@pytest.mark.parametrize("answer", [True, False, NotDelivered("no")])
async def test_an_answer_for_one_person_is_read_by_all_only_where_it_cannot_be_shown_to_one(
    answer: bool | AdapterError,
) -> None:
    clock = FakeClock()
    platform = Whispering(clock, [answer])
    async with opening(platform, clock, MemoryRecords()) as outbound, anyio.create_task_group() as tasks:
        page = outbound.page(PageSpec("p", ROOM, GATEWAY, alone="fake:ada"), UNRECORDED)
        page.update("Two agents")
        tasks.start_soon(page.finish, "Two agents are at work.")
        await clock.advance(5)
    alone = answer is True
    assert platform.whispered == ([("fake:ada", "Two agents are at work.")] if alone else [])
    assert list(platform.messages.values()) == ([] if alone else ["Two agents are at work."])


async def test_an_answer_that_everybody_reads_already_goes_on_so() -> None:
    clock = FakeClock()
    platform = Whispering(clock, [])
    async with opening(platform, clock, MemoryRecords()) as outbound:
        page = outbound.page(PageSpec("p", ROOM, GATEWAY, {0: "m1"}, alone="fake:ada"), UNRECORDED)
        assert not isinstance(page, AnswerPage)


class WithThreads(MarkedPlatform):
    """Opens threads, unless the next call meets a fault."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.failures: list[AdapterError] = []
        self.opened: list[tuple[str, str]] = []

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        if self.failures:
            raise self.failures.pop(0)
        self.opened.append((title, nonce))
        return replace(to, thread=f"t{len(self.opened)}")

    async def link(self, to: Address, /) -> str | None:
        if self.failures:
            raise self.failures.pop(0)
        return f"at:{to.key}"


@asynccontextmanager
async def opening(platform: MarkedPlatform, clock: FakeClock, chosen: MemoryRecords) -> AsyncIterator[NodeOutbound]:
    async with anyio.create_task_group() as tasks:
        presenter = PagePresenter(platform, EditScheduler(TOTAL, clock, tasks), clock)
        yield NodeOutbound(
            {"fake": presenter}, {}, {}, {"fake": english()}, tasks, ConversationOrigins(MemoryRecords(), chosen), clock
        )
        tasks.cancel_scope.cancel()


async def test_a_conversation_is_opened_in_its_turn_and_has_the_program_that_was_chosen() -> None:
    clock, chosen = FakeClock(), MemoryRecords({ROOM.key: "tax"})
    platform = WithThreads(clock)
    platform.failures = [RateLimited("wait", retry_after_s=5)]
    async with opening(platform, clock, chosen) as outbound, anyio.create_task_group() as tasks:
        found: list[Address | None] = []

        async def ask() -> None:
            found.append(await outbound.open_thread(ROOM, "Another way", nonce="f.1"))

        tasks.start_soon(ask)
        await clock.advance(1)
        assert found == []
        await clock.advance(10)
        assert found == [replace(ROOM, thread="t1")]
    assert platform.opened == [("Another way", "f.1")]
    assert chosen.records[replace(ROOM, thread="t1").key] == "tax"


async def test_where_a_platform_refuses_or_cannot_nothing_is_opened() -> None:
    clock = FakeClock()
    refusing = WithThreads(clock)
    refusing.failures = [NotDelivered("no right"), NotDelivered("no right")]
    async with opening(refusing, clock, MemoryRecords()) as outbound:
        assert await outbound.open_thread(ROOM, "Another way", nonce="f.1") is None
        assert await outbound.link(ROOM) is None
        assert await outbound.link(ROOM) == f"at:{ROOM.key}"
    async with opening(MarkedPlatform(clock), clock, MemoryRecords()) as outbound:
        assert await outbound.open_thread(ROOM, "Another way", nonce="f.1") is None
        assert await outbound.link(ROOM) is None
        assert await outbound.open_thread(Address("elsewhere", "1"), "Another way", nonce="f.1") is None


class Reaching(MarkedPlatform):
    """Can write to people by their numbers."""

    async def private_with(self, _to: Address, person_id: str, /) -> Address | None:
        return Address("fake", f"with {int(person_id.partition(':')[2])}")


async def test_nobody_of_another_platform_is_written_to_in_private() -> None:
    clock = FakeClock()
    async with opening(Reaching(clock), clock, MemoryRecords()) as outbound:
        assert await outbound.private_with(ROOM, "fake:7") == Address("fake", "with 7")
        assert await outbound.private_with(ROOM, "slack:T1:U1") is None
        assert await outbound.private_with(ROOM, "discord:7") is None


async def test_what_is_shown_in_the_place_of_a_meeting_needs_the_lease_of_its_home_alone() -> None:
    clock, asked = FakeClock(), list[str]()
    platform = MarkedPlatform(clock)

    def may_show(conversation: str) -> bool:
        asked.append(conversation)
        return conversation == ROOM.key

    async with anyio.create_task_group() as tasks:
        presenter = PagePresenter(platform, EditScheduler(TOTAL, clock, tasks, may_show=may_show), clock)
        outbound = NodeOutbound(
            {"fake": presenter},
            {},
            {},
            {"fake": english()},
            tasks,
            ConversationOrigins(MemoryRecords(), MemoryRecords()),
            clock,
        )
        for address, home in ((OTHER, ROOM), (OTHER, None)):
            page = outbound.page(PageSpec(f"{home}", address, GATEWAY, home=home), UNRECORDED)
            tasks.start_soon(page.finish, f"of {home and home.key}")
        await clock.advance(5)
        assert list(platform.messages.values()) == [f"of {ROOM.key}"]
        assert set(asked) == {ROOM.key, OTHER.key}
        tasks.cancel_scope.cancel()


async def test_a_question_that_nobody_sees_is_settled_at_once() -> None:
    """Its session would else be at work for ever, and could not be deleted."""
    clock, kept = FakeClock(), list[bool]()
    async with anyio.create_task_group() as tasks:
        outbound = NodeOutbound({}, {}, {}, {}, tasks, ConversationOrigins(MemoryRecords(), MemoryRecords()), clock)
        for platform in (SCRATCH, CLIENT, "switched off"):
            asked = PageSpec("q.1", Address(platform, "1"), GATEWAY)
            outbound.settle(asked, "Ship it?", "Yes", done=kept.append)
        await clock.advance(1)
        assert kept == [True, True, False]


async def test_what_is_said_in_a_scratch_room_is_written_down_while_it_grows() -> None:
    clock, grown = FakeClock(), Written()
    async with anyio.create_task_group() as tasks:
        outbound = NodeOutbound({}, {}, {}, {}, tasks, ConversationOrigins(MemoryRecords(), MemoryRecords()), clock)
        for platform in (SCRATCH, CLIENT):  # no client follows its tasks here
            page = outbound.page(PageSpec("p.1", Address(platform, "1"), GATEWAY), grown)
            page.update(f"Once in a {platform}")
        await clock.advance(GROWS_S)
        assert grown.texts == ["Once in a scratch"]
        tasks.cancel_scope.cancel()


class Written:
    """A record that keeps what grew; `lost`: the session is another process's."""

    def __init__(self, *, lost: bool = False) -> None:
        self.texts: list[str] = []
        self._lost = lost

    async def opening(self, part: int, text: str, /) -> None:
        raise AssertionError("nothing is sent anywhere")

    async def grows(self, text: str, /) -> None:
        if self._lost:
            raise LeaseLost("gone")
        self.texts.append(text)

    async def sent(self, part: int, platform_id: str, /) -> None:
        raise AssertionError("nothing is sent anywhere")


async def test_the_newest_text_is_written_down_once_in_a_while() -> None:
    clock, record = FakeClock(), Written()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(record, clock, tasks)
        for text in ("a", "ab", "abc"):
            page.update(text)
        await clock.advance(GROWS_S)
        page.update("abcd")
        await clock.advance(GROWS_S / 2)
        assert record.texts == ["abc"]
        await clock.advance(GROWS_S)
        await clock.advance(GROWS_S)
        page.update("abcde")
        await clock.advance(GROWS_S)
        assert record.texts == ["abc", "abcd", "abcde"]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["ends", "finish", "rest", "abandon"])
async def test_what_is_over_is_written_down_no_more(how: str) -> None:
    clock, record = FakeClock(), Written()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(record, clock, tasks)
        page.update("a")
        match how:
            case "ends":
                page.ends()
            case "finish":
                assert await page.finish("a whole")
            case "rest":
                await page.rest()
            case _:
                page.abandon()
        await clock.advance(GROWS_S)
        page.update("a w")
        await clock.advance(GROWS_S)
        assert record.texts == []


async def test_a_session_that_is_lost_meanwhile_harms_nobody_else() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(Written(lost=True), clock, tasks)
        page.update("a")
        await clock.advance(GROWS_S)
