"""What is forgotten about people and sessions beside the tapes, on a real server; other people's things stay."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from adapters.web.charters import CHARTERS_TABLE, FILES_TABLE, RoomCharter, RoomCharters
from gateway.features.schedules.redis import RedisSchedules
from gateway.features.tasks.words import TakenWords, TaskWord
from gateway.jobs.retention import SessionErasure
from runtime.channels.mailbox import START, ParticipantSeat, SeatLetter
from runtime.core.address import Address, address_of
from runtime.core.errors import SessionBusy
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.core.quote import Quote
from runtime.core.room import MessageReaction, RoomChange
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.archive.sqlite import open_sqlite
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.mailboxes import RedisMailboxes
from runtime.storage.redis.records import RedisCounters, RedisPlaceStore, RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import FORK, MERGED, PARTICIPANT, TASK_HEARD, TASK_WORD, InboxEvent, shard_of
from runtime.stores.sessions import Commit, HeldPlace, SessionRecord
from runtime.tape.tape import Fact, TapeBranch, session_tape
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.contract.storage_samples import T0, post, shard_lease

pytestmark = pytest.mark.anyio

ADA, BOB = "telegram:42", "telegram:421"
WHOSE = PersonKeys(ADA, frozenset({ADA}))


@pytest.fixture(params=[*SETUPS, ENCRYPTED])
async def connection(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as opened:
        yield opened


def said(person: str, conversation: str) -> InboxEvent:
    return InboxEvent("1", Address("telegram", conversation), person, "Ada", "hi", T0)


def sent(message: str) -> dict[str, Any]:
    """A message on the platform, as a session notes it."""
    return {"page": "1", "part": 0, "pid": message}


async def begun(connection: RedisConnection, session: str, room: str, *facts: tuple[str, dict[str, object]]) -> None:
    """A session at rest in a room."""
    id_, address = SessionId(session), Address("web", room)
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(address.key))
    record = SessionRecord(id_, address, "hello", T0, 0)
    kept = tuple(Fact(session_tape(id_), n, kind, T0, data) for n, (kind, data) in enumerate(facts, start=1))
    await RedisSessionStore(connection).commit(Commit(lease, id_, 0, facts=kept, begin=record))


def erasure(connection: RedisConnection) -> SessionErasure:
    store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
    traces, places = RedisTraces(connection), RedisPlaceStore(connection)
    return SessionErasure(catalog, store, traces, places, lambda address: address.platform == "web")


async def test_letters_and_acts_of_sessions_that_are_deleted_are_forgotten(connection: RedisConnection) -> None:
    mailboxes, inbox = RedisMailboxes(connection), RedisInbox(connection)
    place = Address("web", "room")
    theirs, others = (ParticipantSeat(SessionId(name), AgentId("1001"), place) for name in ("theirs", "others"))
    for seat in (theirs, others):
        await mailboxes.put("scout", SeatLetter(seat, MessageId("m"), {"text": f"what was said in {seat.session}"}))
        act = str(SeatAct(seat.id, "say", "1", to="user", text="an answer that quotes"))
        await inbox.add(InboxEvent(seat.id, place, "", "", act, T0, kind=PARTICIPANT))
    assert await RedisTraces(connection).person(PersonKeys(ADA, frozenset(), frozenset({theirs.session}))) >= 3
    reader = await mailboxes.attend("scout", "reader")
    left = await mailboxes.read("scout", START, reader, wait_s=0, at_most=10)
    assert [mail.letter.seat for mail in left.mail] == [others]
    assert await mailboxes.seat("scout", theirs.id) is None
    assert await mailboxes.seat("scout", others.id) == others
    events = await inbox.read({shard_of(place.key): "0"}, wait_s=0)
    assert [SeatAct.read(entry.event.text).seat for entry in events] == [others.id]


async def test_events_that_wait_are_forgotten_and_may_come_again(connection: RedisConnection) -> None:
    inbox = RedisInbox(connection)
    for event in (said(ADA, "42"), said(BOB, "421"), said(ADA, "-7"), said(BOB, "-8")):
        assert await inbox.add(event)
    await RedisTraces(connection).person(WHOSE)
    places = [Address("telegram", chat).key for chat in ("42", "421", "-7", "-8")]
    after, left = dict.fromkeys(map(shard_of, places), "0"), set[str]()
    while len(left) < 2:
        for entry in await inbox.read(after, wait_s=60):
            after[entry.shard] = entry.entry_id
            left.add(entry.event.address.key)
    assert left == {"telegram:-8", "telegram:421"}
    assert not await inbox.read(after, wait_s=0.01)
    assert await inbox.add(said(ADA, "42"))
    assert not await inbox.add(said(BOB, "421"))


async def test_what_forks_of_their_sessions_quote_is_forgotten(connection: RedisConnection) -> None:
    await begun(connection, "s1", "hall", ("person", {"id": ADA, "name": "Ada"}))
    await begun(connection, "s2", "garden", ("person", {"id": BOB, "name": "Bob"}))
    inbox, place = RedisInbox(connection), Address("web", "cellar")
    for number, (session, kind) in enumerate([("s1", FORK), ("s1", MERGED), ("s2", FORK), ("s2", MERGED)]):
        quote = Quote("1", "Ada", "a secret") if session == "s1" else None
        text = f"{session} 1 1 a secret"
        await inbox.add(InboxEvent(str(number), place, BOB, "Bob", text, T0, kind=kind, quote=quote))
    await erasure(connection).person(ADA)
    left = await inbox.read({shard_of(place.key): "0"}, wait_s=60)
    assert [(entry.event.kind, entry.event.text.split()[0]) for entry in left] == [(FORK, "s2"), (MERGED, "s2")]


async def test_words_to_and_from_tasks_of_deleted_sessions_are_forgotten(connection: RedisConnection) -> None:
    inbox, task = RedisInbox(connection), SessionId("a-task")
    for session in ("theirs", "others"):
        word = TaskWord(1, SessionId(session), task, up=False, klass="Main", text="a secret", hops=1)
        taken = TakenWords(1, SessionId(session), task, up=True, seq=7)
        for kind, letter in ((TASK_WORD, word), (TASK_HEARD, taken)):
            event = InboxEvent(f"{session}.{kind}", address_of(task), "", "", str(letter), T0, kind=kind)
            await inbox.add(event)
    await RedisTraces(connection).person(PersonKeys(ADA, frozenset(), frozenset({SessionId("theirs")})))
    left = await inbox.read({shard_of(address_of(task).key): "0"}, wait_s=60)
    assert [entry.event.id for entry in left] == [f"others.{TASK_WORD}", f"others.{TASK_HEARD}"]


async def test_a_session_in_which_the_person_is_only_quoted_is_deleted(connection: RedisConnection) -> None:
    await begun(connection, "s1", "hall", ("person", {"id": BOB, "name": "Bob"}), ("quoted", {"people": [ADA]}))
    await begun(connection, "s2", "yard", ("person", {"id": BOB, "name": "Bob"}))
    assert (await erasure(connection).person(ADA)).sessions == ("s1",)


async def test_what_others_said_that_quotes_the_person_stays_without_the_quote(connection: RedisConnection) -> None:
    await begun(connection, "s1", "hall", ("person", {"id": ADA, "name": "Ada L."}))
    group, inbox = Address("web", "group"), RedisInbox(connection)
    shard, lease = shard_of(group.key), await shard_lease(RedisLeaseStore(connection), shard=shard_of(group.key))
    quotes = [Quote("7", "Ada L.", "a secret"), Quote("8", "Cleo", "no secret"), None]
    for number, quote in enumerate(quotes):
        await inbox.add(InboxEvent(f"d{number}", group, BOB, "Bob", "look", T0, quote=quote))
    before = await inbox.read({shard: "0"}, wait_s=60)
    for entry in before:
        await inbox.discard(entry, lease.token, reason="broken")
    for number, quote in enumerate(quotes):
        await inbox.add(InboxEvent(f"w{number}", group, BOB, "Bob", "look", T0, quote=quote))
    waiting = await inbox.read({shard: "0"}, wait_s=60)
    letters = await RedisDeadLetters(connection).page(limit=10)
    await erasure(connection).person(ADA)
    assert await inbox.read({shard: "0"}, wait_s=60) == [
        replace(waiting[0], event=replace(waiting[0].event, quote=None)),
        *waiting[1:],
    ]
    left = await RedisDeadLetters(connection).page(limit=10)
    assert left == [replace(letters[0], event=replace(letters[0].event, quote=None)), *letters[1:]]
    await inbox.add(InboxEvent("after", group, BOB, "Bob", "later", T0))
    card = Quote("", "Grafana", "an alert", "card")
    shared = Quote("9", "Somebody", "a secret", "shared", person=ADA)
    brought = (Quote("", "Cleo", "look", "forwarded", inside=(shared, card)), shared, card)
    await inbox.add(InboxEvent("shares", group, BOB, "Bob", "look", T0, around=brought))
    await erasure(connection).person(ADA)
    [later, shares] = await inbox.read({shard: waiting[-1].entry_id}, wait_s=60)
    assert later.event.id == "after"
    assert shares.event.around == (Quote("", "Cleo", "look", "forwarded", inside=(card,)), card)


async def test_schedules_that_a_person_made_are_forgotten_and_those_of_others_stay(
    connection: RedisConnection,
) -> None:
    schedules = RedisSchedules(connection)
    for event in (said(ADA, "-7"), replace(said(BOB, "-7"), id="2"), replace(said(BOB, "42"), id="3")):
        lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(event.address.key))
        await schedules.add(lease, event, 50.0, bound=5)
    assert await RedisTraces(connection).person(WHOSE) == 2
    group, alone = Address("telegram", "-7"), Address("telegram", "42")
    assert [one.event.person_id for one in await schedules.all(group)] == [BOB]
    assert await schedules.all(alone) == []
    assert [one.event.id for one in await schedules.due(shard_of(group.key), 100.0, 5)] == ["2"]
    assert await schedules.due(shard_of(alone.key), 100.0, 5) == []
    assert await schedules.first(shard_of(alone.key)) is None


async def test_records_and_sums_of_a_person_are_forgotten(connection: RedisConnection) -> None:
    theirs = {
        "access:people": ADA,
        "programs:chosen": ADA,
        "memory:off": f"{ADA} tax",
        "telegram": "topic:42#7",
        "rates:telegram": "42",
    }
    others = {
        "access:people": BOB,
        "programs:chosen": BOB,
        "memory:off": f"{BOB} tax",
        "telegram": "topic:421#7",
        "marks:discord": "42",
    }
    for table, name in (*theirs.items(), *others.items()):
        await RedisRecords(connection, table).put(name, "kept")
    counters = RedisCounters(connection)
    for whose in (ADA, BOB):
        await counters.add(f"person:{whose}:messages:60:1", 1, once=f"{whose}/1", ttl_s=60)
    assert await RedisTraces(connection).person(WHOSE) == len(theirs) + 2
    for table, name in theirs.items():
        assert await RedisRecords(connection, table).get(name) is None
    for table, name in others.items():
        assert await RedisRecords(connection, table).get(name) == "kept"
    assert await counters.read([f"person:{whose}:messages:60:1" for whose in (ADA, BOB)]) == [0, 1]


async def test_a_person_is_taken_out_of_a_room_that_others_keep(connection: RedisConnection) -> None:
    charters = RoomCharters(RedisRecords(connection, CHARTERS_TABLE))
    people = {ADA: "Ada", BOB: "Bob"}
    await charters.change("private-0011223344556677", lambda _: RoomCharter("Wedding", "private", ADA, people))
    await charters.change("ideas", lambda _: RoomCharter("Ideas", made_by=BOB, left=frozenset({ADA, BOB})))
    files = RedisRecords(connection, FILES_TABLE)
    await files.put("f1", json.dumps([ADA]))
    assert await RedisTraces(connection).person(WHOSE) == 3
    assert await files.get("f1") == "[]"
    assert await charters.get("private-0011223344556677") == RoomCharter("Wedding", "private", "", {BOB: "Bob"})
    assert await charters.get("ideas") == RoomCharter("Ideas", made_by=BOB, left=frozenset({BOB}))


async def test_that_something_was_said_to_the_person_is_forgotten(connection: RedisConnection) -> None:
    rooms = RedisRoomStore(connection)
    await rooms.put("hall", replace(post("m1", "hi"), author_id=ADA, author_kind="person", author_name="Ada"))
    await rooms.put("hall", replace(post("m2", "Your turn."), to="Ada"))
    await rooms.put("hall", replace(post("m3", "Yours."), to="Bob"))
    await RedisTraces(connection).person(WHOSE)
    assert [(message.id, message.to) for message in await rooms.history("hall", limit=9)] == [("m2", ""), ("m3", "Bob")]


async def test_messages_reactions_and_quotes_in_rooms_are_forgotten(connection: RedisConnection) -> None:
    rooms = RedisRoomStore(connection)
    await rooms.put("hall", replace(post("m1", "secret"), author_id=ADA, author_kind="person"))
    await rooms.put("hall", replace(post("m2", "so?"), quote=Quote("m1", "Ada", "secret")))
    await rooms.amend("hall", "m2", RoomChange(reacted=(ADA, MessageReaction("Ada", "👍"))))
    await rooms.amend("hall", "m2", RoomChange(reacted=(BOB, MessageReaction("Bob", "👍"))))
    before = await rooms.get("hall", "m2")
    assert before is not None
    await RedisTraces(connection).person(WHOSE)
    (left,) = await rooms.history("hall", limit=10)
    assert (left.id, left.quote, set(left.reactions)) == ("m2", None, {BOB})
    assert left.version > before.version
    await RedisTraces(connection).messages("hall", ["m2"])
    assert await rooms.rooms() == []


async def test_a_deleted_session_takes_its_messages_and_files_but_not_those_of_others(
    connection: RedisConnection,
) -> None:
    rooms, files = RedisRoomStore(connection), RedisFileStore(connection)
    alone, shared = await files.keep(b"alone", "text/plain"), await files.keep(b"shared", "text/plain")
    file = {"name": "a", "type": "text/plain", "size": 5}
    for name in ("heard", "sent", "other"):
        await rooms.put("hall", post(name))
    await begun(
        connection,
        "s1",
        "hall",
        ("file", {**file, "url": f"file:{alone}"}),
        ("file", {**file, "url": f"file:{shared}"}),
        ("heard", {"pid": "heard", "private": False}),
        ("sent", sent("sent")),
    )
    await begun(connection, "s2", "elsewhere", ("file", {**file, "url": f"file:{shared}"}))
    assert await erasure(connection).sessions([SessionId("s1")])
    assert [message.id for message in await rooms.history("hall", limit=10)] == ["other"]
    assert await files.head(alone) is None
    assert await files.head(shared) is not None
    assert not await erasure(connection).sessions([SessionId("s1")])


async def test_a_deleted_session_takes_the_places_of_its_meetings_with_what_was_said_there(
    connection: RedisConnection,
) -> None:
    rooms, places = RedisRoomStore(connection), RedisPlaceStore(connection)
    place, taken = Address("web", "side"), Address("web", "taken")
    for name in ("meeting.s1.100", "heard", "sent"):
        await rooms.put("side", post(name))
    await rooms.put("taken", post("other"))
    held = HeldPlace(Address("web", "hall"), SessionId("s1"), "100")
    await places.put(place, held)
    await places.put(taken, replace(held, session=SessionId("s2")))
    await begun(
        connection,
        "s1",
        "hall",
        ("place", {"id": "100", "place": ["web", "side", None], "nonce": "meeting.s1.100"}),
        ("place", {"id": "101", "place": ["web", "taken", None], "nonce": "meeting.s1.101"}),
        ("heard", {"pid": "heard", "private": False}),
        ("sent", sent("sent")),
    )
    assert await erasure(connection).sessions([SessionId("s1")])
    assert [room.id for room in await rooms.rooms()] == ["taken"]
    assert await places.get(place) is None
    assert await places.get(taken) == replace(held, session=SessionId("s2"))


async def forked(
    connection: RedisConnection, session: str, parent: TapeBranch, room: str, *facts: dict[str, object]
) -> None:
    """A session at rest that goes on from another."""
    id_, address = SessionId(session), Address("web", room)
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(address.key))
    record = SessionRecord(id_, address, "hello", T0 + timedelta(minutes=1), 0, parent=parent)
    kept = [Fact(session_tape(id_), n, "sent", T0, data) for n, data in enumerate(facts, start=parent.seq + 1)]
    await RedisSessionStore(connection).commit(Commit(lease, id_, parent.seq, facts=tuple(kept), begin=record))


async def test_forks_with_a_persons_words_are_deleted_with_them_and_others_stay(connection: RedisConnection) -> None:
    await begun(
        connection, "s1", "hall", ("person", {"id": BOB, "name": "Bob"}), ("person", {"id": ADA, "name": "Ada"})
    )
    await forked(connection, "s2", TapeBranch(SessionId("s1"), 2), "garden")
    await forked(connection, "s3", TapeBranch(SessionId("s1"), 1), "cellar")
    erased = await erasure(connection).person(ADA)
    assert set(erased.sessions) == {"s1", "s2"}
    (left,) = [known async for known in RedisSessionCatalog(connection).sessions()]
    assert (left.record.id, left.record.parent) == ("s3", None)
    whole = await RedisSessionCatalog(connection).whole(SessionId("s3"))
    assert whole is not None
    assert [fact.data["id"] for fact in whole.facts] == [BOB]

    async def every_key(client: Redis) -> str:
        return str([(key, await client.dump(key)) async for key in client.scan_iter() if "s1" in key or "s2" in key])

    assert set(await connection.everywhere(every_key)) == {"[]"}


async def undone(connection: RedisConnection, session: str, parent: TapeBranch, *facts: dict[str, object]) -> None:
    """A session that goes on in the place of another, in the hall."""
    id_, address = SessionId(session), Address("web", "hall")
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(address.key))
    catalog = RedisSessionCatalog(connection)
    alive = [known async for known in catalog.sessions() if known.record.replaced_by is None]
    record = SessionRecord(id_, address, "hello", T0 + timedelta(minutes=int(session[1:])), 0, parent=parent)
    kept = [Fact(session_tape(id_), n, "sent", T0, data) for n, data in enumerate(facts, start=parent.seq + 1)]
    commit = Commit(lease, id_, parent.seq, facts=tuple(kept), begin=record, replaces=alive[0].record.id)
    await RedisSessionStore(connection).commit(commit)


@pytest.mark.parametrize("doomed", [("s1", "s2"), ("s1",), ("s2",)], ids=str)
async def test_a_deleted_session_leaves_the_messages_that_the_one_in_its_place_has(
    connection: RedisConnection, doomed: tuple[str, ...]
) -> None:
    rooms = RedisRoomStore(connection)
    for name in ("first", "second", "third", "now"):
        await rooms.put("hall", post(name))
    await begun(connection, "s1", "hall", ("sent", sent("first")), ("sent", sent("second")))
    await undone(connection, "s2", TapeBranch(SessionId("s1"), 1), sent("third"))
    await undone(connection, "s3", TapeBranch(SessionId("s1"), 1), sent("now"))
    assert await erasure(connection).sessions([SessionId(one) for one in doomed]) == len(doomed)
    left = {message.id for message in await rooms.history("hall", limit=10)}
    gone = {"s1": {"second"}, "s2": {"third"}}
    assert left == {"first", "second", "third", "now"} - {message for one in doomed for message in gone[one]}
    assert await erasure(connection).sessions([SessionId("s3")]) == 1
    assert "now" not in {message.id for message in await rooms.history("hall", limit=10)}


async def test_a_session_of_which_a_part_cannot_be_read_is_forgotten_with_the_person_it_names(
    connection: RedisConnection,
) -> None:
    await begun(connection, "s1", "hall", ("person", {"id": ADA, "name": "Ada"}))
    await begun(connection, "s2", "garden", ("person", {"id": BOB, "name": "Bob"}))

    for session, room, person in (("s1", "hall", ADA), ("s2", "garden", BOB)):
        tape = ShardKeys(shard_of(f"web:{room}")).tape(session_tape(SessionId(session)))
        await connection.write("DEL", tape)
        fields = ("k", "person", "t", T0.isoformat(), "d", f'{{"id": "{person}", "na')
        await connection.write("XADD", tape, "1-0", *fields)
    assert (await erasure(connection).person(ADA)).sessions == (SessionId("s1"),)


async def test_a_deleted_fork_leaves_the_messages_from_before_its_branch(connection: RedisConnection) -> None:
    rooms = RedisRoomStore(connection)
    for name in ("before", "after"):
        await rooms.put("hall", post(name))
    await begun(connection, "s1", "hall", ("sent", sent("before")))
    await forked(connection, "s2", TapeBranch(SessionId("s1"), 1), "hall", sent("after"))
    assert await erasure(connection).sessions([SessionId("s2")])
    assert [message.id for message in await rooms.history("hall", limit=10)] == ["before"]


async def test_of_a_person_with_a_session_at_work_nothing_is_deleted(connection: RedisConnection) -> None:
    for session, room in (("s1", "hall"), ("s2", "garden")):
        await begun(connection, session, room, ("person", {"id": ADA, "name": "Ada"}))
    lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of("web:garden"))
    await RedisSessionStore(connection).commit(Commit(lease, SessionId("s2"), 1, awake=True))
    with pytest.raises(SessionBusy, match="s2"):
        await erasure(connection).person(ADA)
    assert await RedisSessionCatalog(connection).find(SessionId("s1")) is not None
    erased = await erasure(connection).person(ADA, force=True)
    assert sorted(erased.sessions) == ["s1", "s2"]
    assert erased.rewritten


async def test_a_rewrite_under_way_is_waited_for_and_the_one_that_begins_after_the_deletion_as_well(
    connection: RedisConnection,
) -> None:
    async def rewrite_twice(client: Redis) -> list[object]:
        async with client.pipeline(transaction=False) as batch:  # in one packet: no rewrite ends between them
            batch.bgrewriteaof()
            batch.bgrewriteaof()
            return await batch.execute(raise_on_error=False)

    for _, second in await connection.everywhere(rewrite_twice):
        assert "already in progress" in str(second)
    assert await RedisTraces(connection).rewrite()
    for told in await connection.everywhere(lambda client: client.info("persistence")):
        assert not told["aof_rewrite_in_progress"]
        assert not told["aof_rewrite_scheduled"]


async def test_a_person_is_forgotten_in_the_archive_as_well(connection: RedisConnection, tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "archive.sqlite") as archive:
        for session, person, room in (("s1", ADA, "hall"), ("s2", BOB, "garden")):
            await begun(connection, session, room, ("person", {"id": person, "name": "?"}))
        catalog = RedisSessionCatalog(connection, archive)
        assert all([await catalog.put_away(SessionId(session)) for session in ("s1", "s2")])
        tapes, traces = RedisSessionStore(connection, archive), RedisTraces(connection)
        await SessionErasure(catalog, tapes, traces, RedisPlaceStore(connection), lambda _: False).person(ADA)
        assert [session async for session in archive.sessions()] == ["s2"]
        assert await catalog.find(SessionId("s1")) is None
