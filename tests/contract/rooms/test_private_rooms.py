"""Private and direct rooms, their people, and rooms that are renamed, archived and left."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from msgspec.structs import replace

from adapters.web import gatherings
from adapters.web.charters import direct_room
from adapters.web.codec import WebVisitor
from adapters.web.visit import MESSAGES
from runtime.core.address import Address, Speaker
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.page_socket import ADA, GRACE, Frame, PageSocket, page_socket
from tests.fakes.pages.room_store import RoomStoreThatFails
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

EVE = WebVisitor("web:eve", "Eve")
GUIDE = Speaker("1000", "Guide")


@asynccontextmanager
async def three(**options: Any) -> AsyncGenerator[tuple[WebChat, PageSocket, PageSocket, PageSocket]]:
    """A chat with the pages of Ada, Grace and Eve, who are in the lobby."""
    async with AsyncExitStack() as stack:
        chat = await stack.enter_async_context(web_chat(agents=["Guide"], **options))
        pages = [await stack.enter_async_context(page_socket(chat, person)) for person in (ADA, GRACE, EVE)]
        for page in pages:
            await page.join()
        ada, grace, eve = pages
        yield chat, ada, grace, eve


async def private(page: PageSocket, title: str = "Wedding") -> str:
    await page.send("private", name=title)
    return str((await page.until("opened"))["room"])


async def rooms_of(chat: WebChat, person: WebVisitor) -> dict[str, Frame]:
    async with page_socket(chat, person) as page:
        return {room["id"]: room for room in (await page.until("welcome"))["rooms"]}


async def test_who_is_not_invited_hears_nothing_of_a_private_room() -> None:
    async with three() as (chat, ada, _, eve):
        room = await private(ada)
        await ada.join(room)
        said = await ada.say("It is on Sunday", room=room)
        await ada.until("message", room=room)
        await chat.adapter.send(Address("web", room), "Noted", speaker=GUIDE, nonce="n1", final=False)
        await chat.adapter.edit(Address("web", room), "n1", "Noted!", speaker=GUIDE, nonce="n1", final=True)
        await ada.say("Hello", room="lobby")
        await eve.until("message", room="lobby")
        for kind, more in (
            ("join", {"version": None}),
            ("older", {"before": 9}),
            ("search", {"words": "Sunday"}),
            ("members", {}),
            ("typing", {}),
            ("stop", {}),
            ("change", {"id": said, "text": "x"}),
            ("take_back", {"id": said}),
            ("react", {"id": said, "mark": "👍"}),
            ("press", {"id": said, "choice": "x"}),
            ("invite", {"person": EVE.id}),
            ("leave", {}),
            ("title", {"title": "Mine"}),
            ("archive", {"archived": True}),
        ):
            await eve.send(kind, room=room, **more)
            assert (await eve.until("absent"))["room"] == room
        await eve.send("open", name=room)
        assert "does not begin with" in (await eve.until("error"))["text"]
        await eve.say("Let me in", room=room)
        assert (await eve.until("refused"))["text"] == f"There is no room {room!r}. Open it first."
        assert room not in str(await eve.everything_so_far())
        assert room not in await rooms_of(chat, EVE)
        assert (await rooms_of(chat, ADA))[room]["title"] == "Wedding"


async def test_an_absent_room_and_one_that_is_hidden_look_alike() -> None:
    async with three() as (_, ada, _, eve):
        room = await private(ada)
        await eve.send("join", room=room)
        hidden = await eve.until("absent")
        await eve.send("join", room="private-0000000000000000")
        missing = await eve.until("absent")
        assert {**hidden, "room": "", "text": hidden["text"].replace(room, "X")} == {
            **missing,
            "room": "",
            "text": missing["text"].replace("private-0000000000000000", "X"),
        }


async def test_nobody_learns_whether_two_others_talk_with_each_other() -> None:
    async with three() as (_, ada, grace, eve):
        answers = []
        for _ in range(2):
            await eve.send("members", room=direct_room(ADA.id, GRACE.id))
            answers.append(await eve.until("absent"))
            await eve.send("open", name=direct_room(ADA.id, GRACE.id))
            answers.append(await eve.until("error"))
            await grace.send("direct", person=ADA.id)
            await ada.until("room")
        assert answers[:2] == answers[2:]


async def test_a_room_that_is_not_open_is_seen_by_nobody_when_its_record_is_gone() -> None:
    store, tables = RoomStoreThatFails(), memory_tables()
    async with three(store=store, tables=tables) as (_, ada, grace, _):
        rooms = [await private(ada)]
        await grace.send("direct", person=ADA.id)
        rooms.append((await grace.until("opened"))["room"])
        for room in rooms:
            await tables.charters.remove(room)
    async with three(store=store, tables=tables) as (chat, ada, _, _):
        assert set(await rooms_of(chat, EVE)) == {"lobby"}
        for room in rooms:
            await ada.send("join", room=room)
            assert (await ada.until("absent"))["room"] == room


async def test_nothing_is_kept_of_rooms_that_there_are_not() -> None:
    charters = MemoryRecords()
    async with three(tables=replace(memory_tables(), charters=charters)) as (chat, ada, _, _):
        for number in range(5):
            await ada.send("leave", room=f"nowhere-{number}")
            assert (await ada.until("absent"))["room"] == f"nowhere-{number}"
        assert charters.records == {}
        assert set(chat.adapter.board.charters.known) <= {"lobby"}


async def test_who_makes_many_rooms_at_once_has_to_wait() -> None:
    async with three() as (chat, ada, _, _):
        for _ in range(40):
            await ada.send("private", name="Mine")
        assert (await ada.until("error"))["text"] == "That is a lot at once. Try again in a moment."
        assert len(await chat.adapter.board.charters.all()) < 30


async def test_activity_in_a_private_room_is_told_to_its_people_alone() -> None:
    async with three() as (_, ada, grace, eve):
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        assert (await grace.until("room"))["room"]["title"] == "Wedding"
        await ada.send("open", name="ideas")
        await eve.until("activity")
        await ada.join(room)
        await ada.say("It is on Sunday", room=room)
        while room not in str(await grace.until("activity")):
            pass
        await ada.say("Something else", room="ideas")
        assert room not in str(await eve.until("activity"))
        assert room not in str(await eve.everything_so_far())


async def test_who_leaves_a_private_room_sees_it_no_more_on_any_page() -> None:
    async with three() as (chat, ada, grace, _), page_socket(chat, GRACE) as second:
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        await grace.until("room")
        await second.join(room)
        await grace.send("leave", room=room)
        assert (await grace.until("gone"))["room"] == room
        assert (await second.until("gone"))["room"] == room
        await ada.say("She is gone", room=room)
        await second.send("join", room=room)
        assert (await second.until("absent"))["room"] == room
        assert "She is gone" not in str(await second.everything_so_far())
        await ada.send("members", room=room)
        assert (await ada.until("members"))["people"] == [{"id": ADA.id, "name": "Ada"}]


async def test_two_people_have_one_direct_room_whoever_asks_and_agents_do_not_listen() -> None:
    async with three() as (chat, ada, grace, eve):
        await ada.send("direct", person=GRACE.id)
        room = (await ada.until("opened"))["room"]
        await grace.send("direct", person=ADA.id)
        assert (await grace.until("opened"))["room"] == room
        assert (await rooms_of(chat, ADA))[room]["title"] == "Grace"
        shown = {"id": room, "seq": 1, "title": "Ada", "kind": "direct", "with": ADA.id}
        assert (await rooms_of(chat, GRACE))[room] == shown
        assert room not in await rooms_of(chat, EVE)
        async with chat.adapter.connect() as items:
            await ada.say("Between us", room=room)
            assert not (await anext(items)).addressed
        await eve.send("join", room=room)
        assert (await eve.until("absent"))["room"] == room
        await ada.send("invite", room=room, person=EVE.id)
        assert "only to private rooms" in (await ada.until("error"))["text"]


async def test_agents_hear_a_private_room_and_its_first_line_says_so() -> None:
    async with three() as (chat, ada, grace, _):
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        await grace.until("room")
        (first, *_) = (await ada.join(room))["messages"]
        assert first["text"].endswith("Only invited people see it. Agents hear it.")
        async with chat.adapter.connect() as items:
            await ada.say("Hi Grace", room=room)
            assert (await anext(items)).addressed


async def test_who_writes_to_an_agent_alone_is_heard_and_in_private() -> None:
    async with three() as (chat, ada, _, _):
        await ada.send("direct", agent="Guide")
        room = (await ada.until("opened"))["room"]
        async with chat.adapter.connect() as items:
            await ada.say("Hello", room=room)
            inbound = await anext(items)
            assert (inbound.addressed, inbound.private) == (True, True)
        await ada.send("direct", agent="Nobody")
        assert "nobody like that" in (await ada.until("error"))["text"]
        await ada.send("direct", person="web:unheard-of")
        assert "nobody like that" in (await ada.until("error"))["text"]


@pytest.mark.parametrize("name", ["direct-0123", "Private  plans"])
async def test_nobody_opens_a_room_under_the_name_of_one_that_is_not_open(name: str) -> None:
    async with three() as (_, ada, _, _):
        await ada.send("open", name=name)
        assert "does not begin with" in (await ada.until("error"))["text"]


async def test_what_comes_of_a_private_room_is_as_private() -> None:
    async with three() as (chat, ada, _, eve):
        room = await private(ada)
        opened = await chat.adapter.open_thread(Address("web", room), "The guests", nonce="n9")
        assert opened is not None
        assert (await rooms_of(chat, ADA))[opened.conversation]["title"] == "The guests"
        assert "guests" not in opened.conversation
        await eve.send("join", room=opened.conversation)
        await eve.until("absent")


async def test_who_made_a_room_and_owners_rename_and_archive_it_and_nobody_else() -> None:
    async with three(owners=[GRACE.id]) as (chat, ada, grace, eve):
        await ada.send("open", name="Ideas")
        await ada.until("opened")
        await ada.send("title", room="ideas", title="Good ideas")
        assert (await eve.until("room"))["room"]["title"] == "Good ideas"
        await eve.send("title", room="ideas", title="Bad ideas")
        assert (await eve.until("error"))["text"] == "Only the person who made this room, or an owner, can do that."
        await eve.send("archive", room="ideas", archived=True)
        await eve.until("error")
        await grace.send("archive", room="ideas", archived=True)
        assert (await eve.until("room"))["room"]["archived"]
        await ada.say("Too late", room="ideas")
        assert (await ada.until("refused"))["text"] == "This room is archived."
        await ada.send("archive", room="ideas", archived=False)
        await ada.until("room", room={"id": "ideas", "seq": 3, "title": "Good ideas"})
        for title in ("", " \u202e ", "x" * 81):
            await ada.send("title", room="ideas", title=title)
            assert "A title needs" in (await ada.until("error"))["text"]
        await ada.send("title", room="lobby", title="Mine")
        await ada.until("error")
        assert (await rooms_of(chat, EVE))["ideas"]["title"] == "Good ideas"


async def test_an_open_room_that_is_left_is_off_the_list_until_one_goes_there_again() -> None:
    async with three() as (chat, ada, grace, _):
        await ada.send("open", name="ideas")
        await grace.until("activity")
        await grace.send("leave", room="ideas")
        assert (await grace.until("gone"))["room"] == "ideas"
        assert "ideas" not in await rooms_of(chat, GRACE)
        await grace.join("ideas")
        assert "ideas" in await rooms_of(chat, GRACE)
        await grace.send("leave", room="lobby")
        assert (await grace.until("error"))["text"] == "This room cannot be left."


async def test_all_of_it_survives_a_restart_and_rooms_of_before_stay_open() -> None:
    store, tables = RoomStoreThatFails(), memory_tables()
    async with web_chat(store) as before, page_socket(before) as page:
        await page.send("open", name="old")
        await page.until("opened")
    async with three(store=store, tables=tables) as (_, ada, _, _):
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        await ada.until("room")
    async with web_chat(store, tables=tables) as again:
        listed = await rooms_of(again, GRACE)
        assert (listed[room]["title"], listed["old"]) == ("Wedding", {"id": "old", "seq": 1})
        assert room not in await rooms_of(again, EVE)


async def test_two_who_change_a_room_at_the_same_moment_lose_nothing() -> None:
    async with three() as (chat, ada, grace, _):
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        await grace.until("room")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: grace.send("leave", room=room))
            tasks.start_soon(lambda: ada.send("title", room=room, title="The wedding"))
            tasks.start_soon(lambda: ada.send("invite", room=room, person=EVE.id))
        await grace.until("gone")
        await ada.send("members", room=room)
        people = {each["name"] for each in (await ada.until("members"))["people"]}
        assert people == {"Ada", "Eve"}
        assert (await rooms_of(chat, EVE))[room]["title"] == "The wedding"


async def test_people_who_have_been_here_and_agents_can_be_written_to() -> None:
    async with three() as (_, ada, _, _):
        await ada.send("people")
        listed = await ada.until("directory")
        assert ([one["name"] for one in listed["people"]], listed["agents"]) == (["Eve", "Grace"], ["Guide"])


async def test_who_has_a_file_that_was_posted_where_they_cannot_see_it_can_post_it_too() -> None:
    async with three() as (chat, ada, _, eve), httpx.AsyncClient(base_url=chat.url, trust_env=False) as http:

        async def uploaded(person: WebVisitor) -> str:
            headers = {"Cookie": chat.cookie(person), "Content-Type": "text/plain"}
            file = str((await http.post("/files", content=b"a song", headers=headers)).json()["id"])
            assert (await http.get(f"/files/{file}", headers=headers)).status_code == 200
            return file

        await ada.say("Listen", room=await private(ada), files=[{"id": await uploaded(ADA), "name": "song.txt"}])
        await ada.until("activity")
        await eve.say("Listen", files=[{"id": await uploaded(EVE), "name": "song.txt"}])
        assert (await eve.until("message"))["message"]["files"][0]["name"] == "song.txt"


async def test_a_file_of_a_private_room_is_for_who_sees_a_room_with_it() -> None:
    async with three() as (chat, ada, grace, eve), httpx.AsyncClient(base_url=chat.url, trust_env=False) as http:
        room = await private(ada)
        headers = {"Cookie": chat.cookie(ADA), "Content-Type": "text/plain"}
        file = (await http.post("/files", content=b"the guests", headers=headers)).json()["id"]

        async def status(person: WebVisitor) -> int:
            return (await http.get(f"/files/{file}", headers={"Cookie": chat.cookie(person)})).status_code

        await ada.say("Look", room=room, files=[{"id": file, "name": "guests.txt"}])
        await ada.until("activity")
        assert [await status(person) for person in (ADA, GRACE, EVE)] == [200, 404, 404]
        await eve.say("Mine now", files=[{"id": file, "name": "guests.txt"}])
        assert "no longer exists" in (await eve.until("refused"))["text"]
        await ada.send("invite", room=room, person=GRACE.id)
        await grace.until("room")
        assert [await status(GRACE), await status(EVE)] == [200, 404]
        await grace.say("For all", files=[{"id": file, "name": "guests.txt"}])
        await eve.until("message")
        assert await status(EVE) == 200


async def test_nobody_writes_in_an_archived_room_but_takes_back_what_they_said_and_an_answer_stands() -> None:
    async with three() as (chat, ada, _, _):
        await ada.send("open", name="Ideas")
        await ada.until("opened")
        await ada.join("ideas")
        said = await ada.say("Cake", room="ideas")
        await ada.until("message")
        await ada.send("archive", room="ideas", archived=True)
        await ada.until("room")
        for kind, more in (("change", {"text": "Pie"}), ("react", {"mark": "👍"}), ("press", {"choice": "x"})):
            await ada.send(kind, room="ideas", id=said, **more)
            assert (await ada.until("error"))["text"] == "This room is archived."
        host = Speaker("1000", "Host")
        await chat.adapter.send(Address("web", "ideas"), "too late", speaker=host, nonce="n", final=True)
        assert (await ada.until("message"))["message"]["text"] == "too late"
        await ada.send("take_back", room="ideas", id=said)
        assert (await ada.until("message"))["message"]["deleted"]


async def test_who_takes_another_name_has_it_in_all_of_their_rooms() -> None:
    async with three() as (chat, ada, grace, _):
        await ada.send("direct", person=GRACE.id)
        direct = (await ada.until("opened"))["room"]
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        await grace.until("room", room={"id": room, "seq": 1, "title": "Wedding", "kind": "private"})
        await ada.everything_so_far()
        async with page_socket(chat, WebVisitor(GRACE.id, "Admiral")) as later:
            await later.until("welcome")
            assert (await ada.until("room"))["room"]["title"] == "Admiral"
        assert (await rooms_of(chat, ADA))[direct]["title"] == "Admiral"
        await ada.send("members", room=room)
        assert "Admiral" in str((await ada.until("members"))["people"])


async def test_who_is_out_is_not_offered_and_cannot_be_invited_or_written_to() -> None:
    async with three(out=[GRACE.id]) as (_, ada, _, _):
        await ada.send("people")
        assert [one["name"] for one in (await ada.until("directory"))["people"]] == ["Eve"]
        await ada.send("direct", person=GRACE.id)
        assert "nobody like that" in (await ada.until("error"))["text"]
        room = await private(ada)
        await ada.send("invite", room=room, person=GRACE.id)
        assert "can be invited" in (await ada.until("error"))["text"]


async def test_rooms_are_not_made_faster_than_messages() -> None:
    async with three() as (_, ada, _, _):
        for _ in range(int(MESSAGES.burst)):
            await private(ada)
        await ada.send("private", name="One more")
        assert "a lot at once" in (await ada.until("error"))["text"]


async def test_one_person_cannot_take_all_rooms_that_are_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gatherings, "MAX_CHARTERS_OF_ONE", 2)
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()
        for name in ("one", "two"):
            await ada.send("private", name=name)
            await ada.until("opened")
        await ada.send("private", name="three")
        assert "You have made 2 rooms" in (await ada.until("error"))["text"]
        await ada.send("direct", person=GRACE.id)
        assert "You have made 2 rooms" in (await ada.until("error"))["text"]
        await grace.send("private", name="three")
        await grace.until("opened")
        await grace.send("direct", person=ADA.id)
        room = (await grace.until("opened"))["room"]
        await ada.send("direct", person=GRACE.id)
        assert (await ada.until("opened"))["room"] == room
