"""What every RoomStore does with quotes, files, choices, reactions, edits and deletions, and with what is old."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.core.message import Attachment, Choice
from runtime.core.quote import Quote
from runtime.core.room import MessageReaction, RoomChange
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.stores.inbox import shard_of
from tests.contract.conftest import Stores
from tests.contract.storage_samples import post

pytestmark = pytest.mark.anyio

FILE = Attachment("a.csv", "text/csv", "file:1", 3)
UP = MessageReaction("Ada", "👍")


async def test_quotes_and_files_come_back_with_their_message(stores: Stores) -> None:
    quote = Quote("z", "Grace", "What?")
    kept = await stores.rooms.put(
        "lobby", replace(post("a"), quote=quote, files=(FILE, replace(FILE, size_bytes=None, note="Sales go up")))
    )
    assert (kept.quote, kept.files) == (quote, (FILE, replace(FILE, size_bytes=None, note="Sales go up")))
    assert list(await stores.rooms.history("lobby", limit=1)) == [kept]
    assert await stores.rooms.get("lobby", "a") == kept
    assert await stores.rooms.get("lobby", "b") is None
    assert await stores.rooms.get("elsewhere", "a") is None


async def test_to_whom_and_in_which_meeting_a_message_is_said_comes_back_with_it_and_stays(stores: Stores) -> None:
    await stores.rooms.put("lobby", replace(post("a"), to="Ada", meeting="a boat", final=False))
    await stores.rooms.put("lobby", post("b"))
    await stores.rooms.update("lobby", "a", text="more", final=True)
    kept = await stores.rooms.history("lobby", limit=9)
    assert sorted((message.to, message.meeting) for message in kept) == [("", ""), ("Ada", "a boat")]


async def test_a_change_takes_the_next_version_and_the_same_again_none(stores: Stores) -> None:
    await stores.rooms.put("lobby", post("a"))
    change = RoomChange(text="better", edited=True, choices=(Choice("1", "Yes"), Choice("2", "No")))
    changed = await stores.rooms.amend("lobby", "a", change)
    assert changed is not None
    assert (changed.text, changed.edited, changed.version, changed.choices) == ("better", True, 2, change.choices)
    assert await stores.rooms.amend("lobby", "a", change) == changed
    bare = await stores.rooms.amend("lobby", "a", RoomChange(choices=()))
    assert bare is not None
    assert (bare.choices, bare.version, bare.text) == ((), 3, "better")
    again = await stores.rooms.amend("lobby", "a", RoomChange(choices=()))
    assert again is not None
    assert again.choices == ()
    assert await stores.rooms.amend("lobby", "b", change) is None
    assert await stores.rooms.amend("elsewhere", "a", change) is None


async def test_everybody_has_one_reaction_and_can_take_it_away(stores: Stores) -> None:
    await stores.rooms.put("lobby", post("a"))
    await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:ada", UP)))
    await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:grace", MessageReaction("Grace", "🎉"))))
    both = await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:ada", MessageReaction("Ada", "👎"))))
    assert both is not None
    assert dict(both.reactions) == {
        "web:ada": MessageReaction("Ada", "👎"),
        "web:grace": MessageReaction("Grace", "🎉"),
    }
    await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:ada", None)))
    none = await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:grace", None)))
    assert none is not None
    assert dict(none.reactions) == {}
    unchanged = await stores.rooms.amend("lobby", "a", RoomChange(reacted=("web:grace", None)))
    assert unchanged == none


async def test_a_deleted_message_keeps_its_place_and_nothing_else(stores: Stores) -> None:
    await stores.rooms.put("lobby", replace(post("a", "secret"), files=(FILE,)))
    await stores.rooms.put("lobby", post("b"))
    gone = await stores.rooms.amend("lobby", "a", RoomChange(text="", deleted=True, files=()))
    assert gone is not None
    assert (gone.seq, gone.text, gone.deleted, gone.files) == (1, "", True, ())
    assert await stores.rooms.update("lobby", "a", text="back again", final=True) is None
    assert [each.id for each in await stores.rooms.history("lobby", limit=9)] == ["a", "b"]


async def test_a_message_from_before_there_were_reactions_can_be_read_and_changed(valkey_socket: str) -> None:
    old = (
        '{"id":"a","author_id":"1000","author_name":"Greeter","author_kind":"agent","text":"hi",'
        '"sent_at":"2026-01-01T12:00:00+00:00","final":true,"thread":null,"seq":1,"version":1}'
    )
    async with open_connection(valkey_socket, patience_s=20) as connection:
        keys = ShardKeys(shard_of("old"))

        async def write(client: object) -> None:
            await client.hset(keys.room("old"), "a", old)  # type: ignore[attr-defined]
            await client.hset(keys.room_counters("old"), mapping={"seq": 1, "version": 1})  # type: ignore[attr-defined]

        await connection.retrying(write, keys.room("old"))
        rooms = RedisRoomStore(connection)
        kept = await rooms.get("old", "a")
        assert kept is not None
        assert (kept.text, kept.thread, kept.files, dict(kept.reactions)) == ("hi", None, (), {})
        changed = await rooms.amend("old", "a", RoomChange(reacted=("web:ada", UP)))
        assert changed is not None
        assert (dict(changed.reactions), changed.version) == ({"web:ada": UP}, 2)
