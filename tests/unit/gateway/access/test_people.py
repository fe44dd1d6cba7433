"""People and their roles, requests and their codes. Notices to owners: in private, once, and to those alone who are
owners still.
"""

import pytest

import gateway.access.people
from gateway.access.admission import AccessCommands
from gateway.access.people import (
    CODE_LETTERS,
    KnownPeople,
    KnownPerson,
    OwnerNotices,
    Role,
    is_code,
    new_code,
    role_named,
)
from runtime.core.address import Address
from runtime.core.message import Choice
from runtime.core.texts import english
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import NOTICE, shard_of
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import TEXTS, Door, event, opened, people

HOME = Address("test", "9", "t")


def store(clock: FakeClock | None = None) -> KnownPeople:
    return KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), clock or FakeClock())


async def code_of(people: KnownPeople, id_: str = "test:9", *, minutes: float = 60) -> str:
    request = await people.ask(KnownPerson(id_, "Eve", Role.BLOCKED), HOME, None, minutes=minutes, at_most=20)
    assert request is not None
    return request.code


async def test_codes_have_letters_that_are_not_mistaken_and_are_known_by_their_form() -> None:
    codes = {new_code() for _ in range(50)}
    assert len(codes) == 50
    assert all(is_code(code) for code in codes)
    assert not set("O0I1") & set(CODE_LETTERS)
    assert not is_code("HELLO")
    assert not is_code("HELLO YO")


async def test_a_request_is_kept_with_all_that_is_known_of_it() -> None:
    people = store()
    code = await code_of(people)
    (request,) = await people.requests()
    assert (request.code, request.person_id, request.name, request.address) == (code, "test:9", "Eve", HOME)
    assert await people.waits("test:9")
    assert await people.approve(f" {code.lower()} ", Role.GUEST) == request
    assert await people.find("test:9") == KnownPerson("test:9", "Eve", Role.GUEST)
    assert not await people.waits("test:9")


async def test_a_code_is_good_once_and_until_it_ends() -> None:
    clock = FakeClock()
    people = store(clock)
    code = await code_of(people)
    assert await people.approve("WRNGCQDE") is None
    assert await people.approve(code) is not None
    assert await people.approve(code) is None
    late = await code_of(people, "test:8", minutes=1)
    await clock.advance(60)
    assert await people.approve(late) is None
    assert await people.requests() == []


async def test_a_role_that_is_given_while_somebody_takes_another_name_stays() -> None:
    class BlockedMeanwhile(MemoryRecords):
        async def get(self, name: str, /) -> str | None:
            kept = await super().get(name)
            if kept is not None:
                self.records[name] = kept.replace("member", "blocked")
            return kept

    people = KnownPeople(BlockedMeanwhile(), MemoryRecords(), MemoryRecords(), FakeClock())
    await people.set("test:1", Role.MEMBER, "Ada")
    await people.rename("test:1", "Adele")
    assert await people.find("test:1") == KnownPerson("test:1", "Adele", Role.BLOCKED)


async def test_people_are_listed_owners_first_and_can_be_forgotten() -> None:
    people = store()
    await people.set("test:1", Role.BLOCKED)
    await people.set("test:2", Role.OWNER, "Ada")
    await people.set("test:2", Role.MEMBER)
    await people.set("other:3", Role.OWNER)
    assert [(p.id, p.role, p.name) for p in await people.all()] == [
        ("other:3", Role.OWNER, ""),
        ("test:2", Role.MEMBER, "Ada"),
        ("test:1", Role.BLOCKED, ""),
    ]
    assert await people.has_owner("other")
    assert not await people.has_owner("test")
    assert await people.forget("test:1")
    assert not await people.forget("test:1")


async def test_blocking_settles_a_request() -> None:
    people = store()
    code = await code_of(people)
    await people.set("test:9", Role.BLOCKED)
    assert await people.approve(code) is None


@pytest.mark.parametrize(
    "wrong",
    ["nonsense", "approve", "approve A member more", "approve A king", "role test:1", "role test:1 blocked", "block",
     "block nobody", "revoke", "revoke a b"],
)  # fmt: skip
async def test_the_command_says_how_it_is_asked(wrong: str) -> None:
    people = store()
    assert await AccessCommands(people, TEXTS).run(wrong) == (TEXTS("access.usage"), None)
    assert await people.all() == []


async def test_the_command_does_what_the_console_does() -> None:
    people = store()
    ask = AccessCommands(people, TEXTS).run
    assert (await ask(""))[0] == TEXTS("access.nobody")
    code = await code_of(people)
    assert (await ask("list"))[0] == f"- waiting until 01:00 UTC: Eve (test:9), code {code}"
    answer, request = await ask(f"approve {code} guest")
    assert answer == "Eve (test:9) now has the role guest."
    assert request is not None
    assert (await ask(f"approve {code}"))[0] == TEXTS("access.no_such_code", code=code)
    assert (await ask("role test:9 OWNER"))[0] == "test:9 now has the role owner."
    assert (await ask("block test:7"))[0] == "test:7 now has the role blocked."
    assert (await ask("list"))[0] == "- owner: Eve (test:9)\n- blocked: test:7"
    assert (await ask("revoke test:9"))[0] == TEXTS("access.revoked", person="test:9")
    assert (await ask("revoke test:9"))[0] == TEXTS("access.unknown_person", person="test:9")


def test_roles_are_ordered_and_named() -> None:
    assert Role.BLOCKED < Role.GUEST < Role.MEMBER < Role.OWNER
    assert role_named(" Member ") is Role.MEMBER
    assert role_named("king") is None


async def test_what_strangers_were_told_is_forgotten_when_it_is_over_or_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway.access.people, "MAX_TOLD", 50)
    clock, told = FakeClock(), MemoryRecords()
    known = KnownPeople(MemoryRecords(), MemoryRecords(), told, clock)
    assert await known.is_news("test:long", "stranger", for_s=900)
    assert await known.is_news("test:short", "refuse", for_s=1)
    for number in range(48):
        assert await known.is_news(f"test:{number}", "stranger", for_s=600)
    assert len(told.records) == 50
    assert await known.is_news("test:one-more", "stranger", for_s=600)
    assert "test:short" not in told.records
    assert not await known.is_news("test:long", "stranger", for_s=900)
    await clock.advance(700)
    assert await known.is_news("test:later", "stranger", for_s=600)
    assert set(told.records) == {"test:long", "test:later"}


async def test_an_owner_is_known_by_the_place_where_they_last_wrote_in_private() -> None:
    store = people(_42=Role.OWNER, _7=Role.MEMBER)
    door = Door(await opened(store=store), store=store)
    await door.take(
        event(chat="1"),
        event(chat="2", id="b"),
        event(chat="3", private=False, id="c"),
        event(chat="7", person="7", id="d"),
    )
    assert await door.owner_places.all() == {"test:42": '["test", "2", null]'}


async def test_where_guests_read_along_an_owner_is_told_alone() -> None:
    store = people(_42=Role.OWNER)
    door = Door(await opened("open", store=store, enclosed=True), store=store)
    await door.take(event(chat="3", private=False))
    inbox, places = MemoryInbox(MemoryLeaseStore()), door.owner_places

    async def is_owner(person: str) -> bool:
        return True

    notices = OwnerNotices(places, is_owner, inbox, {"test": english()}, FakeClock())
    await notices.tell("n1", "debug.is_left", among="debug.is_done", number=7)
    (entry,) = await inbox.read({shard_of("test:3"): "0"}, wait_s=0)
    assert (entry.event.address, entry.event.asker) == (Address("test", "3"), "test:42")
    assert entry.event.text == "Report 7 has already been tried again."
    await door.take(event(chat="2", id="b"))
    await notices.tell("n2", "debug.is_left", among="debug.is_done", number=8)
    (entry,) = await inbox.read({shard_of("test:2"): "0"}, wait_s=0)
    assert (entry.event.address, entry.event.asker) == (Address("test", "2"), "")
    assert entry.event.text == "Report 8 is left as it is."


async def test_a_notice_comes_once_to_those_who_are_owners_now() -> None:
    inbox, places = MemoryInbox(MemoryLeaseStore()), MemoryRecords()

    async def is_owner(person: str) -> bool:
        return person != "test:gone"

    notices = OwnerNotices(places, is_owner, inbox, {"test": english()}, FakeClock())
    for person, chat in (("test:42", "2"), ("test:gone", "3"), ("off:1", "4")):
        await notices.seen(person, Address(person.partition(":")[0], chat))
    for _ in range(2):
        await notices.tell("n1", "debug.is_left", [Choice("report.again.1", "Again")], number=7)
    shards = {shard_of(f"{platform}:{chat}"): "0" for platform, chat in (("test", "2"), ("test", "3"), ("off", "4"))}
    (entry,) = await inbox.read(shards, wait_s=0)
    assert (entry.event.address, entry.event.kind) == (Address("test", "2"), NOTICE)
    assert entry.event.text == "Report 7 is left as it is."
    assert list(entry.event.attachments) == [{"id": "report.again.1", "label": "Again"}]
