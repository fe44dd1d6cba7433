"""Messages of schedules are said while whoever made them is a member, to the program that serves then."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from gateway.access.admission import AccessRules, PlatformAccess
from gateway.access.people import KnownPeople, Role
from gateway.features.schedules.node import ScheduledMessages
from gateway.inbound.routing import Route, Routes
from runtime.core.address import Address
from runtime.core.texts import english
from runtime.stores.inbox import NOTICE, InboxEvent
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

HERE = Address("telegram", "-7")
MESSAGE = InboxEvent("1", HERE, "telegram:42", "Ada", "ding", datetime(2026, 1, 1, tzinfo=UTC), program="a")


@dataclass
class _Platform:
    access: PlatformAccess


class Stand:
    def __init__(self, **rules: object) -> None:
        clock = FakeClock()
        self.people = KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), clock)
        self.chosen = MemoryRecords()
        made = AccessRules(**({"mode": "pairing"} | rules))  # type: ignore[arg-type]
        platforms = {"telegram": _Platform(PlatformAccess("telegram", made, self.people, clock))}
        routes = Routes([Route("a", (Path("a.pb"),)), Route("b", (Path("b.pb"),), choose=True)])
        self.scheduled = ScheduledMessages(platforms, self.chosen, routes, {"telegram": english()})

    async def says(self, message: InboxEvent = MESSAGE) -> bool:
        return (await self.scheduled.attend(message)).kind == "message"


async def test_a_member_is_heard_until_they_are_none() -> None:
    stand = Stand()
    assert not await stand.says()
    for role, heard in ((Role.MEMBER, True), (Role.OWNER, True), (Role.GUEST, False), (Role.BLOCKED, False)):
        await stand.people.set("telegram:42", role, "Ada")
        assert await stand.says() is heard


async def test_whom_the_settings_let_in_is_heard_while_they_do() -> None:
    assert await Stand(mode="open").says()
    assert await Stand(people=frozenset({"42"})).says()
    assert await Stand(owners=frozenset({"42"})).says()
    assert not await Stand(people=frozenset({"43"})).says()
    for rules in ({"chats": frozenset({"-7"})}, {"spaces": frozenset({"T1"})}):
        assert not await Stand(**rules).says()
        assert await Stand(visitors=Role.MEMBER, **rules).says()


async def test_who_is_blocked_in_an_open_chat_is_not_heard_and_the_conversation_is_told() -> None:
    stand = Stand(mode="open")
    await stand.people.set("telegram:42", Role.BLOCKED, "Ada")
    told = await stand.scheduled.attend(MESSAGE)
    assert (told.kind, told.address, told.id) == (NOTICE, HERE, MESSAGE.id)
    assert told.text == "🗓 The schedule of Ada has ended, because Ada may not make schedules here any more."


async def test_a_schedule_of_a_program_and_one_of_a_platform_that_is_off_need_nobody() -> None:
    stand = Stand()
    assert await stand.says(replace(MESSAGE, person_id="schedule:Desk"))
    assert await stand.says(replace(MESSAGE, address=Address("slack", "T1:C1")))


async def test_the_program_is_the_one_that_people_chose_meanwhile() -> None:
    stand = Stand(mode="open")
    assert (await stand.scheduled.attend(MESSAGE)).program == "a"
    await stand.chosen.put(HERE.key, "b")
    assert (await stand.scheduled.attend(MESSAGE)).program == "b"
    await stand.chosen.put(HERE.key, "gone")
    assert (await stand.scheduled.attend(MESSAGE)).program == "a"
