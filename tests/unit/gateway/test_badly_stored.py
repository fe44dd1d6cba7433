"""What is stored badly ends nobody's start or work: it is left out, and the rest is there."""

import hashlib
import json
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest

from gateway.access.people import KnownPeople, KnownPerson, OwnerNotices, Role
from gateway.clients.feed import ClientReaders
from gateway.console.door import ConsoleLogins
from gateway.features.a2a.messages import Mark
from gateway.features.a2a.push import Push, Pushes
from gateway.features.feedback.ledger import Feedback
from gateway.features.pushes.subscriptions import KEY, Subscription, Subscriptions, Wishes
from gateway.inbound.entrance import ConversationOrigins
from gateway.inbound.late import LateMessages
from gateway.inbound.usage_limits import PersonLimits
from gateway.overview.tallies import SharedView
from gateway.programs.versions import KeptVersions, VersionPins
from gateway.web.logins.team import LoginTeam, NotAdmitted
from runtime.core.address import Address
from runtime.core.ids import digest_of
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

BAD = ["", "[]", "[[]]", "{}", "null", "1e999", '"text"', "{not json", '{"at": [], "by": {}, "name": 1}', "[" * 50_000]
each_bad = pytest.mark.parametrize("bad", BAD, ids=lambda text: text[:12])


@each_bad
async def test_people_whose_wishes_can_be_read_are_told(bad: str) -> None:
    good = Wishes("Ada", (Subscription("https://fcm.googleapis.com/x", "p", "a"),))
    subscriptions = Subscriptions(MemoryRecords({"web:bob": bad, "web:ada": good.text()}), FakeClock())
    assert await subscriptions.all() == [("web:ada", good)]
    assert (await subscriptions.of("web:bob")).browsers == ()
    await subscriptions.show("web:bob", shows=True)
    assert (await subscriptions.of("web:bob")).shows


@each_bad
async def test_a_key_for_pushes_that_cannot_be_read_is_made_anew(bad: str) -> None:
    subscriptions = Subscriptions(MemoryRecords({KEY: bad}), FakeClock())
    assert (await subscriptions.key()).text == (await subscriptions.key()).text


@each_bad
async def test_notifications_of_tasks_that_can_be_read_are_sent(bad: str) -> None:
    good = Push("c", "t", "1", "https://x.example", "", "", "", "t", Mark(0, "working", None))
    records, unused = MemoryRecords({"t/2": bad, good.name: str(good)}), cast("Any", None)
    assert await Pushes(unused, unused, records, ["x.example"], unused, FakeClock())._all() == [good]


@each_bad
async def test_a_program_is_served_by_the_pins_and_versions_that_can_be_read(bad: str) -> None:
    pin = {"version": "a", "instead_of": "b", "by": "ada", "at": 1.0}
    taken = MemoryRecords({"c": bad, "a": json.dumps({"name": "desk", "at": 0.5})})
    pins = VersionPins(MemoryRecords({"shop": bad, "desk": json.dumps(pin)}), taken, FakeClock())
    assert list(await pins.in_force()) == ["desk"]
    assert await pins.kept("desk") == ["a"]
    await KeptVersions(taken, MemoryRecords(), FakeClock())._drop()
    assert "a" in await taken.all()


@each_bad
async def test_readers_that_can_be_read_are_counted(bad: str) -> None:
    clock = FakeClock()
    until = (clock.now() + timedelta(seconds=60)).timestamp()
    good = json.dumps({"until": until, "readers": [{"may": [">"], "types": [">"], "subject": None}]})
    readers = ClientReaders(MemoryRecords({"one": bad, "two": good}), clock)
    assert [reader.types for reader in await readers.elsewhere()] == [(">",)]


@each_bad
async def test_what_other_nodes_have_seen_and_can_be_read_is_shown(bad: str) -> None:
    unused, clock = cast("Any", None), FakeClock()
    kept = MemoryRecords({"bad": bad, "good": json.dumps({"at": clock.now().timestamp(), "calls": [1]})})

    class SharedCalls(SharedView[Any]):
        name = "calls"

    assert await SharedCalls(unused, kept, "here", clock).others(["bad", "good"]) == [[1]]


@each_bad
async def test_ratings_that_can_be_read_are_counted(bad: str) -> None:
    clock = FakeClock()
    good = json.dumps([clock.now().date().isoformat(), "desk", "Main", "test/model", "up"])
    rows = await Feedback(MemoryRecords({"bad": bad, "good": good}), clock).rows(7)
    assert len(rows) == 1


@each_bad
async def test_owners_whose_place_can_be_read_are_told(bad: str) -> None:
    clock = FakeClock()
    inbox = MemoryInbox(MemoryLeaseStore(clock))
    places = MemoryRecords({"web:bob": bad, "web:ada": json.dumps(["web", "den", None])})

    async def is_owner(_person: str) -> bool:
        return True

    assert await OwnerNotices(places, is_owner, inbox, {"web": english()}, clock).tell("1", "usage.none", days=1)


@each_bad
async def test_conversations_whose_late_messages_can_be_read_are_told(bad: str) -> None:
    clock = FakeClock()
    inbox = MemoryInbox(MemoryLeaseStore(clock))
    good = json.dumps({"at": ["test", "1", None], "by": "test:ada"})
    records = MemoryRecords({"test:1\n1.000000\na": good, "test:1\n2.000000\nb": bad})
    late = LateMessages(records, inbox, clock, english(), 60.0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late.run)
        await clock.advance(3_600)
        tasks.cancel_scope.cancel()
    assert "test:1\n1.000000\na" not in await records.all()


@each_bad
async def test_people_whose_role_can_be_read_have_it_and_others_are_blocked(bad: str) -> None:
    clock = FakeClock()
    until = (clock.now() + timedelta(hours=1)).isoformat()
    asks = {"code": "ABCD2345", "name": "Eve", "place": ["test", "1", None], "expires_at": until}
    roles = MemoryRecords({"test:bob": bad, "test:ada": json.dumps({"role": "owner", "name": "Ada"})})
    told = MemoryRecords({f"test:{n}": bad for n in range(3)})
    people = KnownPeople(roles, MemoryRecords({"test:bob": bad, "test:eve": json.dumps(asks)}), told, clock)
    assert [(one.id, one.role) for one in await people.all()] == [("test:ada", Role.OWNER), ("test:bob", Role.BLOCKED)]
    assert await people.has_owner("test")
    assert [one.person_id for one in await people.requests()] == ["test:eve"]
    assert await people.waits("test:eve")
    assert await people.is_news("test:0", "closed", for_s=60)
    assert await people.is_news("test:new", "closed", for_s=60)
    await people.rename("test:bob", "Bob")
    assert await people.find("test:bob") == KnownPerson("test:bob", "Bob", Role.BLOCKED)
    await people.set("test:bob", Role.MEMBER)
    assert [one.role for one in await people.all()] == [Role.OWNER, Role.MEMBER]


@each_bad
async def test_limits_of_people_that_can_be_read_count_and_the_settings_do_for_others(bad: str) -> None:
    limits = PersonLimits(MemoryRecords({"test:bob": bad, "test:ada": '{"usd_per_day": 2}'}))
    assert {person: own for person, own in (await limits.all()).items() if own} == {"test:ada": {"usd_per_day": 2.0}}
    assert (await limits.of("test:bob"), await limits.of("test:ada")) == ({}, {"usd_per_day": 2.0})


@each_bad
async def test_log_ins_at_the_console_that_can_be_read_hold(bad: str) -> None:
    records = MemoryRecords()
    logins = ConsoleLogins({"reader": "secret"}, records, FakeClock())
    ada = await logins.begin("reader", "Ada")
    records.records |= {hashlib.sha256(b"bob").hexdigest(): bad, "other": bad}
    assert await logins.find("bob") is None
    await logins.begin("reader", "Eve")
    assert "other" not in records.records
    found = await logins.find(ada)
    assert found is not None
    assert found.name == "Ada"
    records.records["other"] = bad
    await logins.end_all("reader")
    assert not records.records


@each_bad
async def test_who_is_in_a_team_and_can_be_read_stays_logged_in(bad: str) -> None:
    clock, records = FakeClock(), MemoryRecords()
    team = LoginTeam(records, KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), clock), clock)
    ada = await team.join(await team.invite(Role.MEMBER, "web:owner"), "Ada", "attempt")
    bob = await team.join(await team.invite(Role.MEMBER, "web:owner"), "Bob", "attempt")
    records.records |= {
        f"person:{bob.person.id}": bad,
        f"login:{digest_of('lost')}": bad,
        f"link:{hashlib.sha256(b'lost').hexdigest()}": bad,
        "link:other": bad,
    }
    assert await team.find(ada.secret) == ada.person
    assert (await team.find(bob.secret), await team.find("lost")) == (None, None)
    for refused in (team.invitation("lost"), team.join("lost", "Eve", "attempt"), team.rename(bob.person, "Bobby")):
        with pytest.raises(NotAdmitted):
            await refused
    await team.log_out("lost")
    await team.log_out_everywhere(bob.person.id)
    assert (await team.join(await team.invite(Role.GUEST, "web:owner"), "Eve", "attempt")).person.name == "Eve"
    assert (await team.join(await team.invite_device(ada.person, "web:owner"), "", "attempt")).person == ada.person


@each_bad
async def test_origins_and_versions_that_can_be_read_are_known(bad: str) -> None:
    place = Address("test", "1")
    origins = ConversationOrigins(MemoryRecords({place.key: bad}), MemoryRecords())
    assert await origins.of(place) is None
    versions = KeptVersions(MemoryRecords({"a": bad, "b": bad}), MemoryRecords({"a": "text"}), FakeClock())
    assert await versions.find("a") is None
    assert not await versions.is_newer("a", Program("shop", (), "", "b"))


async def test_each_record_that_cannot_be_read_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    limits = PersonLimits(MemoryRecords({"test:bob": "{not json", "test:ada": "{}"}))
    await limits.all()
    assert [vars(line)["record"] for line in caplog.records] == ["test:bob"]
