"""What is new of a task reaches the URLs of its client, until it is taken. Posting to servers that
answer in every way.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import pytest
from a2a.types import AuthenticationInfo, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, PushNotificationNotSupportedError
from anyio.abc import ByteStream, SocketAttribute
from msgspec.structs import replace

from gateway.features.a2a.push import GIVE_UP_S, MAX_CONFIGS, PIECES_S, HttpPost, Pushes, http_client
from runtime.core.errors import ArchiveUnavailable
from runtime.core.ids import SessionId
from runtime.stores.sessions import LeaseHolder, SessionRecord
from runtime.tape.facts.people import PageBegun, PageFinished, PageGrew
from runtime.tape.facts.tasks import OrderOver
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.protocols.a2a_schema import validate
from tests.unit.gateway.features.a2a.stand import PARTNER, TASK, TaskStand

URL = "https://hooks.example.org/parley"
HERE = LeaseHolder("here", 10.0)

ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"


class Server:
    """The server of the URL: takes notifications, or not."""

    def __init__(self) -> None:
        self.takes = True
        self.asked: list[tuple[str, Any, dict[str, str]]] = []
        self.taken: list[Any] = []

    async def __call__(self, url: str, body: object, headers: dict[str, str], /) -> bool:
        validate("StreamResponse", body)
        self.asked.append((url, body, headers))
        if self.takes:
            self.taken.append(body)
        return self.takes

    @property
    def words(self) -> list[str]:
        """What it was told, in short."""
        return [word for body in self.taken for word in _words(body)]


def _words(body: Any) -> list[str]:
    update = body.get("artifactUpdate")
    if update is not None and update["artifact"]["name"] == "said":
        how = "+" if update.get("append") else "="
        return [f"{how}{update['artifact']['parts'][0]['text']}{'.' if update.get('lastChunk') else ''}"]
    if update is not None:
        return ["result"]
    status = body["statusUpdate"]["status"]
    texts = [part["text"] for part in status.get("message", {}).get("parts", [])]
    return texts or [status["state"].removeprefix("TASK_STATE_").lower()]


class World:
    """A task, its server, and a node that sends."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stand = TaskStand(self.clock)
        self.server = Server()
        self.records = MemoryRecords()

    @classmethod
    async def begun(cls) -> Self:
        made = cls()
        await made.stand.begin()
        return made

    def pushes(self, *hosts: str) -> Pushes:
        own = hosts or ("hooks.example.org",)
        return Pushes(self.stand.service, self.stand.feed, self.records, own, self.server, self.clock)

    @asynccontextmanager
    async def node(self) -> AsyncIterator[Pushes]:
        """A node that sends until it is killed."""
        pushes = self.pushes()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pushes.run, self.stand.leases, HERE)
            await self.clock.settle()
            yield pushes
            tasks.cancel_scope.cancel()

    async def keep(self, pushes: Pushes, **parts: Any) -> TaskPushNotificationConfig:
        config = TaskPushNotificationConfig(url=URL, task_id=TASK, **parts)
        pushes.check(config)
        return await pushes.keep(PARTNER, await self.stand.service.own(TASK), config)


async def test_everything_new_is_sent_in_order_and_then_no_more_is_kept() -> None:
    world = await World.begun()
    await world.stand.say("before")
    async with world.node() as pushes:
        auth = AuthenticationInfo(scheme="Bearer", credentials="secret")
        config = await world.keep(pushes, token="mine", authentication=auth)
        assert (config.url, config.authentication.scheme, config.authentication.credentials) == (URL, "Bearer", "")
        await world.clock.advance(2)
        await world.stand.say("after")
        await world.stand.note(OrderOver("completed", [1]))
        await world.clock.advance(2)
        assert world.server.words == ["after", "result", "completed"]
        assert world.server.asked[0][2] == {"x-a2a-notification-token": "mine", "authorization": "Bearer secret"}
        assert await world.records.all() == {}


async def test_a_task_that_cannot_be_read_holds_up_no_other_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, tried = World(), list[str]()
    await world.stand.begin()
    rightly = world.stand.store.session

    async def session(shard: int, id_: SessionId, /) -> SessionRecord | None:
        if id_ == TASK:
            return await rightly(shard, id_)
        tried.append(id_)
        raise ArchiveUnavailable("the archive does not answer")

    monkeypatch.setattr(world.stand.store, "session", session)
    async with world.node() as pushes:
        away = replace(await world.stand.service.own(TASK), id=SessionId("away"))
        await pushes.keep(PARTNER, away, TaskPushNotificationConfig(url=URL, task_id=away.id))
        await world.clock.advance(2)
        await world.keep(pushes)
        await world.clock.advance(2)
        await world.stand.say("heard")
        await world.clock.advance(2)
        assert (world.server.words, len(tried)) == (["heard"], 1)
        await world.clock.advance(600)
        assert len(tried) > 1


async def test_what_is_not_taken_is_sent_again_with_growing_pauses_also_by_the_next_node() -> None:
    world = await World.begun()
    world.server.takes = False
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.stand.say("first")
        await world.clock.advance(8)
        assert len(world.server.asked) == 4  # at 0, 1, 3 and 7 s
    await world.stand.say("second")
    await world.stand.note(OrderOver("failed", error="it broke"))
    world.server.takes = True
    async with world.node():
        await world.clock.advance(2)
        assert world.server.words == ["first", "second", "it broke"]
        assert await world.records.all() == {}


async def test_what_was_taken_is_not_sent_again_by_the_next_node() -> None:
    world = await World.begun()
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.stand.say("first")
        await world.clock.advance(2)
    async with world.node():
        await world.stand.say("second")
        await world.clock.advance(2)
    assert world.server.words == ["first", "second"]


async def test_a_text_comes_in_pieces_while_it_grows_at_most_once_a_second() -> None:
    world = await World.begun()
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.clock.advance(2)
        await world.stand.note(PageBegun("1000.0", "1000", "user"))
        for at, text in enumerate("abcd"):
            await world.stand.note(PageGrew("2", at, text))
            await world.clock.advance(PIECES_S / 2)
        await world.stand.note(PageFinished("2", "abcdef"))
        await world.clock.advance(2)
    assert world.server.words == ["=a", "+b", "+cd", "+ef.", "abcdef"]


async def test_a_text_that_pauses_is_sent_as_far_as_it_is_written() -> None:
    world = await World.begun()
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.clock.advance(2)
        await world.stand.note(PageBegun("1000.0", "1000", "user"))
        await world.stand.note(PageGrew("2", 0, "ab"))
        await world.clock.advance(PIECES_S / 2)
        await world.stand.note(PageGrew("2", 2, "cd"))
        await world.clock.settle()
        assert world.server.words == ["=ab"]
        await world.clock.advance(PIECES_S)
        assert world.server.words == ["=ab", "+cd"]


@pytest.mark.parametrize("finished", [False, True], ids=["while it grows", "when it is finished"])
async def test_a_text_that_was_taken_in_part_when_the_node_died_is_there_once(finished: bool) -> None:
    world = await World.begun()
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.clock.advance(2)
        await world.stand.note(PageBegun("1000.0", "1000", "user"))
        await world.stand.note(PageGrew("2", 0, "ab"))
        await world.clock.advance(2)
        noted = dict(world.records.records)
        await world.clock.advance(PIECES_S)
        await world.stand.note(PageGrew("2", 2, "cd"))
        await world.clock.settle()
        assert world.server.words == ["=ab", "+cd"]
    world.records.records = noted  # it died before it noted that the second piece was taken
    if finished:
        await world.stand.note(PageFinished("2", "abcde"))
    async with world.node():
        await world.clock.advance(2)
        if not finished:
            await world.stand.note(PageFinished("2", "abcde"))
        await world.clock.advance(2)
    pieces = [word for word in world.server.words if word[0] in "=+"]
    text = ""
    for piece in pieces:
        text = piece[1:].rstrip(".") if piece[0] == "=" else text + piece[1:].rstrip(".")
    assert text == "abcde", pieces
    assert pieces[-1].endswith(".")


async def test_a_server_that_never_takes_anything_is_given_up() -> None:
    world = await World.begun()
    world.server.takes = False
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.stand.say("first")
        await world.clock.advance(GIVE_UP_S + 10)
        assert await world.records.all() == {}
        assert len(world.server.asked) < 400


async def test_a_url_that_is_taken_back_hears_no_more() -> None:
    world = await World.begun()
    async with world.node() as pushes:
        config = await world.keep(pushes)
        await world.clock.advance(2)
        task = await world.stand.service.own(TASK)
        assert [each.id for each in await pushes.of(PARTNER, task)] == [config.id]
        await pushes.forget(PARTNER, task, config.id)
        await world.stand.say("first")
        await world.clock.advance(2)
        assert (world.server.asked, await pushes.of(PARTNER, task)) == ([], [])


async def test_only_one_node_sends() -> None:
    world = await World.begun()
    assert await world.stand.leases.acquire("a2a-pushes", LeaseHolder("there", 10.0)) is not None
    async with world.node() as pushes:
        await world.keep(pushes)
        await world.stand.say("first")
        await world.clock.advance(5)
        assert world.server.asked == []
        await world.clock.advance(10)
        assert world.server.words == ["first"]


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "https://hooks.example.org.evil.example/",
        "https://hooks.example.org@evil.example/",
        "https://user:word@hooks.example.org/",
        "ftp://hooks.example.org/",
        "file:///etc/passwd",
        "https://hooks.example.org:bad/",
        "https://hooks.example.org/\nx",
        "https://hooks.example.org/" + "x" * 3_000,
    ],
)
async def test_other_hosts_and_strange_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidParamsError):
        World().pushes().check(TaskPushNotificationConfig(url=url, task_id=TASK))


async def test_a_task_has_a_bounded_number_of_urls_and_without_hosts_there_are_none() -> None:
    world = await World.begun()
    pushes = world.pushes()
    for number in range(MAX_CONFIGS):
        await world.keep(pushes, id=str(number))
    await world.keep(pushes, id="0")
    with pytest.raises(InvalidParamsError):
        await world.keep(pushes, id="more")
    none = Pushes(world.stand.service, world.stand.feed, world.records, (), world.server, world.clock)
    with pytest.raises(PushNotificationNotSupportedError):
        none.check(TaskPushNotificationConfig(url=URL, task_id=TASK))


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "0.0.0.0"])
async def test_nothing_is_sent_to_a_private_address(host: str) -> None:
    async with http_client() as http:
        assert not await HttpPost(http, private=False)(f"http://{host}:9/", {}, {})


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", False),
        (b"what is this", False),
        (b"", False),
        (ENDLESS, True),
    ],
)
async def test_only_an_answer_of_success_is_taking_it(answer: bytes, taken: bool) -> None:
    heard: list[bytes] = []

    async def serve(stream: ByteStream) -> None:
        async with stream:
            heard.append(await stream.receive())
            await stream.send(answer)
            if answer is ENDLESS:
                await stream.receive()  # it says nothing more, and does not end

    listener = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners[0]
    port = listener.extra(SocketAttribute.local_port)
    async with listener, http_client() as http, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, _quietly(serve))
        with anyio.fail_after(10):
            post = HttpPost(http, private=True)
            assert await post(f"http://127.0.0.1:{port}/x", {"a": "ä"}, {"authorization": "Bearer b"}) is taken
        tasks.cancel_scope.cancel()
    said = b"".join(heard)
    assert b"authorization: Bearer b" in said
    assert b"content-type: application/a2a+json" in said


def _quietly(serve: Callable[[ByteStream], Awaitable[None]]) -> Callable[[ByteStream], Awaitable[None]]:
    async def served(stream: ByteStream) -> None:
        try:
            await serve(stream)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return

    return served
