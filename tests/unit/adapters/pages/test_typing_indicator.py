"""What people see while an agent works: the sign, and a note when it takes long."""

from typing import ClassVar

import anyio
import pytest
from msgspec.structs import replace

from adapters.capabilities import Budget, Capabilities
from adapters.pages.signs import StatusMessages, TypingIndicator
from runtime.core.address import Address, Speaker
from runtime.core.errors import RateLimited
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.rich_platform import RichPlatform, rich_capabilities
from tests.unit.adapters.pages.presenting import HOST, ROOM, Show, shown_on

PLAIN = rich_capabilities()


def typing_of(show: Show[RichPlatform], records: MemoryRecords | None = None, node: str = "node") -> TypingIndicator:
    notes = StatusMessages(records or MemoryRecords(), node)
    typing = TypingIndicator(show.platform, show.scheduler, show.clock, show.tasks, notes)
    show.presenter.on_visible(typing.seen)
    return typing


async def test_long_work_is_explained_by_one_note_that_goes_when_the_work_stops() -> None:
    async with shown_on(PLAIN) as show:
        typing = typing_of(show)
        typing.set(ROOM, HOST, True, doing="reading the report")
        await show.clock.advance(9)
        assert show.shown == []
        await show.clock.advance(3)
        assert show.shown == ["*reading the report*"]
        typing.set(ROOM, HOST, True, doing="comparing figures")
        await show.clock.advance(3)
        assert show.shown == ["*reading the report*"]
        await show.clock.advance(20)
        assert show.shown == ["*comparing figures*"]
        typing.set(ROOM, HOST, False)
        await show.clock.advance(10)
        assert show.shown == []
        assert show.platform.kinds["send"] == 1


async def test_a_note_goes_when_the_answers_first_text_is_up_and_never_touches_it() -> None:
    async with shown_on(PLAIN) as show:
        typing = typing_of(show)
        typing.set(ROOM, HOST, True, doing="thinking")
        await show.clock.advance(15)
        page = show.page()
        text = await show.grow(page, 10)
        await show.clock.advance(5)
        assert show.shown == [text.rstrip()]
        typing.set(ROOM, HOST, False)
        show.finish(page, text)
        await show.clock.advance(10)
        assert show.shown == [text]


async def test_the_sign_is_taken_away_when_the_work_stops_but_not_in_its_pauses() -> None:
    class Ending(RichPlatform):
        ended: ClassVar[list[str]] = []

        async def end_typing(self, to: Address, speaker: Speaker, /) -> None:
            self.ended.append(f"{to.key} {speaker.name}")

    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        platform = Ending(clock, PLAIN)
        typing = typing_of(Show[RichPlatform](clock, platform, tasks))
        for active in (True, False, True):
            typing.set(ROOM, HOST, active)
            await clock.advance(0.5)
        await clock.advance(3)
        assert platform.ended == []
        typing.set(ROOM, HOST, False)
        await clock.advance(2)
        assert platform.ended == [f"{ROOM.key} {HOST.name}"]
        tasks.cancel_scope.cancel()


async def test_where_there_are_cards_long_work_is_one_that_changes_and_goes_beside_a_sign_with_a_text() -> None:
    class Carding(RichPlatform):
        cards: ClassVar[list[tuple[str, str | None]]] = []

        async def show_task(
            self, to: Address, doing: str, /, *, speaker: Speaker, nonce: str, card: str | None = None
        ) -> str:
            self.cards.append((doing, card))
            return card or await self.send(to, f"[{doing}]", speaker=speaker, nonce=nonce, final=False)

    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        platform = Carding(clock, replace(PLAIN, status_text=True))
        show = Show[RichPlatform](clock, platform, tasks)
        typing = typing_of(show)
        typing.set(ROOM, HOST, True, doing="reading the report")
        await clock.advance(12)
        assert show.shown == ["[reading the report]"]
        typing.set(ROOM, HOST, True, doing="comparing figures")
        await clock.advance(20)
        (first, begun), (second, changed) = platform.cards
        assert (first, begun, second) == ("reading the report", None, "comparing figures")
        assert changed is not None
        typing.set(ROOM, HOST, False)
        await clock.advance(10)
        assert show.shown == []
        tasks.cancel_scope.cancel()


async def test_work_with_visible_text_has_no_note() -> None:
    async with shown_on(PLAIN) as show:
        typing = typing_of(show)
        typing.set(ROOM, HOST, True, doing="writing")
        await show.grow(show.page(), 200, each_s=0.2)
        assert not any("writing" in text for text in show.shown)
        assert show.platform.kinds["delete"] == 0


@pytest.mark.parametrize("capabilities", [replace(PLAIN, deletes=False), replace(PLAIN, status_text=True)])
async def test_no_note_where_it_could_not_be_deleted_or_the_sign_says_it(capabilities: Capabilities) -> None:
    async with shown_on(capabilities) as show:
        typing_of(show).set(ROOM, HOST, True, doing="thinking")
        await show.clock.advance(40)
        assert show.shown == []


async def test_in_a_floods_pause_nothing_is_shown_beside_the_answer_that_waits() -> None:
    async with shown_on(PLAIN) as show:
        typing = typing_of(show)
        show.platform.trouble["send"].append((RateLimited("wait", retry_after_s=1000.0), False))
        show.finish(show.page(), "the answer")
        await show.clock.advance(1)
        typing.set(ROOM, HOST, True, doing="thinking")
        await show.clock.advance(990)
        assert (show.platform.signs, show.shown, show.platform.kinds["send"]) == (0, [], 1)
        typing.set(ROOM, HOST, False)
        await show.clock.advance(20)
        assert show.shown == ["the answer"]


async def test_the_second_of_two_who_work_at_once_is_explained_as_soon_as_there_is_room() -> None:
    async with shown_on(replace(PLAIN, private_budget=Budget(1.0, 1), group_budget=Budget(1.0, 1))) as show:
        typing = typing_of(show)
        typing.set(ROOM, HOST, True, doing="reading the report")
        typing.set(ROOM, Speaker("1001", "Critic"), True, doing="comparing figures")
        await show.clock.advance(14.5)
        assert show.shown == ["*reading the report*", "*comparing figures*"]


async def test_a_note_that_a_crash_left_is_taken_away_by_the_next_run_of_its_node() -> None:
    records = MemoryRecords()
    async with shown_on(PLAIN) as show:
        typing_of(show, records).set(ROOM, HOST, True, doing="thinking")
        await show.clock.advance(15)
        platform = show.platform
    assert list(platform.messages.values()) == ["*thinking*"]
    async with shown_on(PLAIN) as after:
        after.platform.messages.update(platform.messages)
        await typing_of(after, records, "another").open()
        await after.clock.advance(5)
        assert after.shown == ["*thinking*"]
        await typing_of(after, records).open()
        await after.clock.advance(5)
        assert after.shown == []
        assert records.records == {}


async def test_a_note_that_was_taken_away_is_not_remembered() -> None:
    records = MemoryRecords()
    async with shown_on(PLAIN) as show:
        typing = typing_of(show, records)
        typing.set(ROOM, HOST, True, doing="thinking")
        await show.clock.advance(15)
        assert len(records.records) == 1
        typing.set(ROOM, HOST, False)
        await show.clock.advance(5)
        assert (show.shown, records.records) == ([], {})


async def test_work_of_which_nobody_says_what_it_is_has_no_note() -> None:
    async with shown_on(PLAIN) as show:
        typing_of(show).set(ROOM, HOST, True)
        await show.clock.advance(40)
        assert show.shown == []
        assert show.platform.signs > 5
