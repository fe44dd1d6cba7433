"""Looking after sessions and dead letters, in whole processes, while gateways run and while none does."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec.structs import replace
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.tape import TapeBranch
from tests.contract.storage_samples import HERE, NODE, SESSION, T0, beginning, facts, shard_lease
from tests.e2e.gateway_process import ROOT, Gateway, Room, environment_of, gateway, parley
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.e2e.warm_starts import parley_command
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TEXTS = english()
TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
PERSON = 301
WHO = f"telegram:{PERSON}"


@asynccontextmanager
async def running(directory: Path, platform: TelegramPlatform, **more: str) -> AsyncIterator[Gateway]:
    """A gateway that serves anybody on Telegram."""
    async with serving(platform) as address:
        environment = {
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
            **more,
        }
        async with gateway(directory, TELLER, environment) as made:
            yield made


async def listed(directory: Path, what: str) -> list[dict[str, Any]]:
    """What a command lists, as its JSON."""
    status, output, errors = await parley(directory, what, "list", "--json")
    assert status == 0, errors
    return [json.loads(line) for line in output.splitlines()]


async def resting(directory: Path) -> dict[str, Any]:
    """The only session, once it has nothing to do: what people see last is committed a moment later."""
    with anyio.fail_after(90):
        while True:
            (session,) = await listed(directory, "sessions")
            if session["state"] == "resting":
                return session


async def done(directory: Path, *arguments: str) -> str:
    """What a command prints that must succeed."""
    status, output, errors = await parley(directory, *arguments)
    assert status == 0, errors
    return output


async def everything(directory: Path) -> dict[str, str]:
    """The whole database of a data directory as text, by key."""
    async with EmbeddedValkey(directory) as socket:
        client = Redis(unix_socket_path=str(socket), decode_responses=True)
        found = {key: await _content(client, key) async for key in client.scan_iter()}
        await client.aclose()
    return found


async def _content(client: Redis, key: str) -> str:
    match await client.type(key):
        case "hash":
            return str(await client.hgetall(key))
        case "stream":
            return str(await client.xrange(key))
        case "set":
            return str(await client.smembers(key))
        case "zset":
            return str(await client.zrange(key, 0, -1))
    return str(await client.get(key))


async def put(directory: Path, event: InboxEvent) -> None:
    """Put an event into the inbox, as an adapter would."""
    async with EmbeddedValkey(directory) as socket, open_connection(socket, patience_s=10) as connection:
        assert await RedisInbox(connection).add(event)


async def put_aside(directory: Path, event: InboxEvent, reason: str) -> None:
    """Make an event a dead letter, as a node does with what it cannot take; no gateway is running."""
    async with EmbeddedValkey(directory) as socket, open_connection(socket, patience_s=10) as connection:
        inbox, leases, shard = RedisInbox(connection), RedisLeaseStore(connection), shard_of(event.address.key)
        assert await inbox.add(event)
        lease = await shard_lease(leases, shard=shard)
        (entry,) = await inbox.read({shard: "0"}, wait_s=10)
        await inbox.discard(entry, lease.token, reason=reason)
        await leases.release(f"shard:{shard}", NODE, lease.token)


def said(number: int, text: str) -> InboxEvent:
    """A person's message."""
    address = Address("telegram", str(PERSON))
    return InboxEvent(f"test{number}", address, WHO, "Ada Lovelace", text, datetime(2026, 11, 21, tzinfo=UTC))


async def test_a_poison_event_ends_in_the_dead_letters_and_dies_again_when_replayed(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with running(tmp_path, platform):
        talk = TelegramTalk(platform, chat=PERSON)
        await talk.say("hi")
        await until(talk, HELLO)
        await put(tmp_path, replace(said(1, "look at this"), attachments=({"name": "a file without a type"},)))
        not_taken = TEXTS("session.not_taken")
        await until(talk, HELLO, not_taken)
        (letter,) = await listed(tmp_path, "dlq")
        assert (letter["conversation"], letter["text"], letter["person"]) == (WHO, "look at this", WHO)
        assert "failed 4 times at it: KeyError('media_type')" in letter["why"]
        shown = await done(tmp_path, "dlq", "show", letter["letter"])
        assert re.search(r"^text +look at this$", shown, re.MULTILINE)
        table = await done(tmp_path, "dlq", "list")
        assert table.splitlines()[0].split() == ["LETTER", "DIED", "(UTC)", "CONVERSATION", "KIND", "WHY", "TEXT"]
        await done(tmp_path, "debug", "letters", "replay", letter["letter"])
        await until(talk, HELLO, not_taken, not_taken)
        (again,) = await listed(tmp_path, "dlq")
        assert again["letter"] != letter["letter"]
        assert await done(tmp_path, "dlq", "drop", again["letter"]) == f"{again['letter']} of {WHO} is deleted.\n"
        assert await done(tmp_path, "dlq", "list") == "There are no dead letters.\n"
        await talk.say("still there?")
        await until(talk, HELLO, not_taken, not_taken, "You said: still there?")


async def test_a_replayed_letter_is_processed_once(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    await put_aside(tmp_path, replace(said(1, ""), kind="who"), "the archive did not answer")
    async with running(tmp_path, platform):
        talk = TelegramTalk(platform, chat=PERSON)
        await talk.say("hi")
        await until(talk, HELLO)
        (letter,) = await listed(tmp_path, "dlq")
        assert (letter["kind"], letter["why"]) == ("who", "the archive did not answer")
        assert "is back in the inbox" in await done(tmp_path, "debug", "letters", "replay", letter["letter"])
        await until_begun(talk, "• Ada Lovelace")
        status, _, errors = await parley(tmp_path, "debug", "letters", "replay", letter["letter"])
        assert status == 1
        assert errors.startswith(f"parley: There is no dead letter {letter['letter']} (any more)")
        await talk.say("and now?")
        await until_begun(talk, "You said: and now?")
        assert len(talk.texts()) == 3


async def test_a_session_exported_here_and_imported_there_goes_on_with_the_conversation(tmp_path: Path) -> None:
    platform, elsewhere = TelegramPlatform(), TelegramPlatform()
    here, there = tmp_path / "here", tmp_path / "there"
    for directory in (here, there):
        directory.mkdir()
    talk = TelegramTalk(platform, chat=PERSON)
    async with running(here, platform):
        await talk.say("hi")
        await until(talk, HELLO)
        await talk.say("one")
        await until(talk, HELLO, "You said: one")
        session = await resting(here)
        assert (session["conversation"], session["program"]) == (WHO, "teller")
        shown = await done(here, "sessions", "show", session["session"])
        for part in (
            "Ada Lovelace (telegram:301)",
            "Teller: Begin",
            "Ada Lovelace: one",
            "Teller: You said: one",
        ):
            assert part in shown
        tape = await done(here, "sessions", "show", session["session"], "--facts")
        assert len(tape.splitlines()) == session["facts"]
        await done(here, "sessions", "export", session["session"], "-o", "talk.jsonl")
        saved = ("save-test", session["session"], "teller.test.md", "--program", str(TELLER), "--title", "Saved")
        assert await done(here, "sessions", *saved) == "✓ teller.test.md:8  Saved\n"
    assert (here / "talk.jsonl").stat().st_mode & 0o777 == 0o600
    await done(there, "sessions", "import", str(here / "talk.jsonl"))
    async with running(there, elsewhere):
        talk = TelegramTalk(elsewhere, chat=PERSON)
        await talk.say("two")
        await until(talk, "You said: two")
        status, _, errors = await parley(there, "sessions", "import", str(here / "talk.jsonl"))
        assert status == 1
        assert f"There is a session {session['session']} already; --replace" in errors
        await done(there, "sessions", "import", "--replace", str(here / "talk.jsonl"))
        await talk.say("three")
        await until(talk, "You said: two", "You said: three")


async def test_a_broken_file_is_refused_with_its_line(tmp_path: Path) -> None:
    platform, talk_file = TelegramPlatform(), tmp_path / "talk.jsonl"
    async with running(tmp_path, platform):
        talk = TelegramTalk(platform, chat=PERSON)
        await talk.say("hi")
        await until(talk, HELLO)
        session = await resting(tmp_path)
        await done(tmp_path, "sessions", "export", session["session"], "-o", str(talk_file))
    lines = talk_file.read_text().splitlines(keepends=True)
    talk_file.write_text("".join(lines[:-2]))
    status, _, errors = await parley(tmp_path, "sessions", "import", "--replace", str(talk_file))
    assert status == 2
    assert f"{talk_file}:{len(lines) - 2}: the file ends here" in errors
    (kept,) = await listed(tmp_path, "sessions")
    assert (kept["session"], kept["facts"]) == (session["session"], session["facts"])


async def test_a_session_at_work_is_deleted_by_force_alone_and_its_node_forgets_it(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with running(tmp_path, platform):
        talk, other = TelegramTalk(platform, chat=PERSON), TelegramTalk(platform, chat=302)
        for each in (talk, other):
            await each.say("hi")
            await until(each, HELLO)
        await talk.say("slow")
        await until_begun(talk, "Once")
        found = {each["conversation"]: each for each in await listed(tmp_path, "sessions")}
        session = found[WHO]["session"]
        status, _, errors = await parley(tmp_path, "sessions", "delete", session)
        assert status == 1
        assert f"The session {session} is active on " in errors
        assert await done(tmp_path, "sessions", "delete", session, "--force") == f"The session {session} is deleted.\n"
        await talk.say("who are you?")
        await until_begun(talk, HELLO)
        await other.say("one")
        await until(other, HELLO, "You said: one")
        now = {each["conversation"]: each["session"] for each in await listed(tmp_path, "sessions")}
        assert now["telegram:302"] == found["telegram:302"]["session"]
        assert now[WHO] != session


async def test_a_person_who_asks_to_be_forgotten_leaves_nothing(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    limits = {"PARLEY_LIMITS__PERSON_MESSAGES_PER_DAY": "50", "PARLEY_LIMITS__CONVERSATION_MESSAGES_PER_DAY": "50"}
    async with running(tmp_path, platform, **limits):
        talk, other = TelegramTalk(platform, chat=PERSON), TelegramTalk(platform, chat=3012)
        for each in (talk, other):
            await each.say("/who")
            await until(each, "Nothing is running.")
            await each.say("hi, I like marmalade")
            await until(each, "Nothing is running.", HELLO)
        await done(tmp_path, "access", "role", WHO, "member")
    before = await everything(tmp_path)
    assert _naming(before, _number(301))
    output = await done(tmp_path, "sessions", "delete", "--person", WHO)
    assert re.search(rf"^{WHO}: 1 sessions and [1-9]\d* other entries are deleted\.$", output, re.MULTILINE)
    after = await everything(tmp_path)
    assert not _naming(after, _number(301))
    (left,) = await listed(tmp_path, "sessions")
    assert left["conversation"] == "telegram:3012"
    kept = {key for key in before if re.search(_number(3012), key)}
    assert kept
    assert kept <= set(after)
    assert (await done(tmp_path, "access", "list")).startswith("Nobody has a role of their own")


async def test_what_somebody_said_in_the_browser_is_forgotten_too(tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER) as made, AsyncExitStack() as stack:
        mary = Room(await stack.enter_async_context(made.page("Marygold")))
        await mary.join()
        await mary.say("hi from Marygold, about marmalade")
        await mary.until(HELLO)
        elsewhere = Room(await stack.enter_async_context(made.page("Bob")), "quiet")
        await elsewhere.open()
        await elsewhere.say("hi")
        await elsewhere.until(HELLO)
        (one,) = [each for each in await listed(tmp_path, "sessions") if each["conversation"] == "web:lobby"]
        people = json.loads(await done(tmp_path, "sessions", "show", one["session"], "--json"))["people"]
        (person,) = people
        assert people == {person: "Marygold"}
        await done(tmp_path, "sessions", "delete", "--person", person)
    left = await everything(tmp_path)
    for word in (person, "Marygold", "marmalade"):
        assert not _naming(left, re.escape(word))
    assert [each["conversation"] for each in await listed(tmp_path, "sessions")] == ["web:quiet"]


def _number(chat: int) -> str:
    """Where a chat is named; ids of sessions may have the same digits within."""
    return rf"(?<![0-9a-f]){chat}(?![0-9a-f])"


def _naming(database: Mapping[str, str], pattern: str) -> list[str]:
    """The keys that have something in their name or content."""
    return [key for key, content in database.items() if re.search(pattern, key) or re.search(pattern, content)]


async def replaced_once(directory: Path) -> None:
    """A session of two facts, and one that went on after the first in its place."""
    async with EmbeddedValkey(directory) as socket, open_connection(socket, patience_s=10) as connection:
        lease = await shard_lease(RedisLeaseStore(connection))
        store = RedisSessionStore(connection)
        await store.commit(replace(beginning(lease), facts=facts(1, "one", "two")))
        new = SessionRecord(SessionId("s2"), HERE, "hello", T0, 1, parent=TapeBranch(SESSION, 1))
        await store.commit(Commit(lease, new.id, 1, begin=new, replaces=SESSION, awake=False))


async def test_a_session_that_was_replaced_and_the_one_that_goes_on_name_each_other(tmp_path: Path) -> None:
    await replaced_once(tmp_path)
    found = {known["session"]: known for known in await listed(tmp_path, "sessions")}
    assert (found["s1"]["state"], found["s1"]["replaced_by"], found["s1"]["parent"]) == ("replaced", "s2", None)
    assert (found["s2"]["state"], found["s2"]["replaced_by"], found["s2"]["parent"]) == ("resting", None, ["s1", 1])
    assert re.search(r"^s2 .* s1:1$", await done(tmp_path, "sessions", "list"), re.MULTILINE)
    assert re.search(r"^replaced by +s2$", await done(tmp_path, "sessions", "show", "s1"), re.MULTILINE)
    assert re.search(r"^continues +s1, after fact 1$", await done(tmp_path, "sessions", "show", "s2"), re.MULTILINE)
    assert len((await done(tmp_path, "sessions", "show", "s2", "--facts")).splitlines()) == 1


async def test_a_session_is_followed_from_its_last_facts_into_what_comes(tmp_path: Path) -> None:
    environment = environment_of(tmp_path, {})
    command = parley_command(["sessions", "show", SESSION, "--follow", "--json"], environment)
    async with EmbeddedValkey(tmp_path) as socket, open_connection(socket, patience_s=10) as connection:
        lease = await shard_lease(RedisLeaseStore(connection))
        store = RedisSessionStore(connection)
        await store.commit(replace(beginning(lease), facts=facts(1, *map(str, range(12)))))
        process = await anyio.open_process(command, env=environment, cwd=tmp_path)
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        with anyio.fail_after(60):
            seen = [json.loads(await lines.receive_until(b"\n", 65536))["seq"] for _ in range(10)]
            await store.commit(Commit(lease, SESSION, 12, facts=facts(13, "new")))
            seen.append(json.loads(await lines.receive_until(b"\n", 65536))["seq"])
            await RedisSessionCatalog(connection).delete(SESSION, force=True)
            assert await process.wait() == 0
    assert seen == list(range(3, 14))
