"""Telegram brings updates by requests: checked, durable before they are answered, on any node."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import AnswersHttp, HttpAnswer, HttpRequest
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.inbound.intake import TelegramWebhook
from adapters.telegram.options import TelegramOptions
from adapters.web.adapter import WebAdapter
from gateway.web.app import build_web
from gateway.web.files import hook_routes
from gateway.web.server import serve as serve_web
from runtime.core.clock import SystemClock
from tests.contract.telegram.speaking import ask, new_adapter
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.web_chat import named_alone
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform

pytestmark = pytest.mark.anyio

URL = "https://chat.example.org/hooks/telegram/part"
SECRET = TelegramWebhook.of(URL, TOKEN, None).secret


@pytest.fixture
async def hooked(options: TelegramOptions) -> AsyncIterator[TelegramAdapter]:
    async with aclosing(new_adapter(replace(options, webhook_url=URL))) as made:
        yield made


def request(update: object, *, secret: str = SECRET, path: str = "/part", method: str = "POST") -> HttpRequest:
    headers = {"x-telegram-bot-api-secret-token": secret} if secret else {}
    return HttpRequest(method, path, {}, headers, json.dumps(update).encode())


def update(text: str, number: int = 1) -> dict[str, object]:
    person = {"id": 42, "is_bot": False, "first_name": "Ada"}
    chat = {"id": 42, "type": "private", "first_name": "Ada"}
    message = {"message_id": number, "date": 1_700_000_000, "from": person, "chat": chat, "text": text}
    return {"update_id": number, "message": message}


def photo(number: int, **more: object) -> dict[str, object]:
    brought = update("", number)
    assert isinstance(brought["message"], dict)
    brought["message"] |= {"photo": [{"file_id": f"p{number}"}], "media_group_id": "77", **more}
    del brought["message"]["text"]
    return brought


class Relay:
    """Stands in the web server for an adapter that is made once the server's address is known."""

    def __init__(self) -> None:
        self.adapter: TelegramAdapter | None = None

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        assert self.adapter is not None
        return await self.adapter.receive(request)


@asynccontextmanager
async def web_with(relay: Relay) -> AsyncIterator[str]:
    """The gateway's web server with a hook for Telegram; its address."""
    web = WebAdapter(memory_tables(), SystemClock())
    app = build_web(web, named_alone(), hook_routes({"telegram": relay}))
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(serve_web, app, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{port}"
        tasks.cancel_scope.cancel()


async def test_connecting_sets_the_webhook_with_its_secret_and_what_we_want(
    hooked: TelegramAdapter, platform: TelegramPlatform
) -> None:
    port: AnswersHttp = hooked
    assert isinstance(port, AnswersHttp)
    async with hooked.connect():
        pass
    [call] = platform.calls_of("setWebhook")
    assert (call.params["url"], call.params["secret_token"]) == (URL, SECRET)
    assert "message_reaction" in call.params["allowed_updates"]
    assert "callback_query" in call.params["allowed_updates"]
    assert platform.calls_of("getUpdates") == []


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (request(update("x"), secret=""), 403),
        (request(update("x"), secret=SECRET[:-1] + "x"), 403),
        (request(update("x"), secret="schlüssel"), 403),
        (request(update("x"), method="GET"), 403),
        (request(update("x"), path="/elsewhere"), 404),
        (request(["no update"]), 400),
    ],
)
async def test_request_that_is_not_telegrams_is_refused(
    hooked: TelegramAdapter, refused: HttpRequest, status: int
) -> None:
    async with hooked.connect():
        assert (await hooked.receive(refused)).status == status


def raw(body: bytes) -> HttpRequest:
    return HttpRequest("POST", "/part", {}, {"x-telegram-bot-api-secret-token": SECRET}, body)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"update_id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"update_id": 1e999}',
    ],
    ids=["deep", "deep below a key", "a number without end"],
)
async def test_a_body_that_cannot_be_read_is_refused_and_not_asked_for_again(
    hooked: TelegramAdapter, body: bytes
) -> None:
    async with hooked.connect():
        assert (await hooked.receive(raw(body))).status == 400


@pytest.mark.parametrize("date", [10**20, -(10**20), 1e300, None, "soon"])
async def test_an_update_from_no_time_is_passed_over_and_the_next_is_heard(
    hooked: TelegramAdapter, date: object
) -> None:
    odd = update("odd")
    assert isinstance(odd["message"], dict)
    odd["message"]["date"] = date
    async with hooked.connect() as inbound, anyio.create_task_group() as tasks:
        with anyio.fail_after(60):
            assert (await hooked.receive(request(odd))).status == 200
            tasks.start_soon(hooked.receive, request(update("well", 2)))
            assert (await anext(inbound)).text == "well"
        tasks.cancel_scope.cancel()


async def test_request_is_answered_only_when_the_next_item_is_asked_for(hooked: TelegramAdapter) -> None:
    answers: list[int] = []

    async def bring() -> None:
        answers.append((await hooked.receive(request(update("precious")))).status)

    async with hooked.connect() as inbound, anyio.create_task_group() as tasks:
        tasks.start_soon(bring)
        assert (await anext(inbound)).text == "precious"
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        tasks.start_soon(ask, inbound)
        while not answers:
            await anyio.wait_all_tasks_blocked()
        assert answers == [200]
        tasks.cancel_scope.cancel()


async def test_request_whose_consumer_went_away_is_refused_and_comes_again(hooked: TelegramAdapter) -> None:
    answers: list[int] = []

    async def bring() -> None:
        answers.append((await hooked.receive(request(update("precious")))).status)

    async with anyio.create_task_group() as tasks, hooked.connect() as inbound:
        tasks.start_soon(bring)
        await anext(inbound)
    assert answers == [503]
    assert (await hooked.receive(request(update("while nobody listens")))).status == 503


async def test_request_before_the_first_connection_is_to_come_again(hooked: TelegramAdapter) -> None:
    assert (await hooked.receive(request(update("early")))).status == 503


async def test_what_is_nothing_to_us_is_taken_at_once(hooked: TelegramAdapter) -> None:
    async with hooked.connect():
        assert (await hooked.receive(request({"update_id": 1, "message": {"chat": "of no known shape"}}))).status == 200


async def test_every_node_knows_the_secret_without_being_told(options: TelegramOptions) -> None:
    async with (
        aclosing(new_adapter(replace(options, webhook_url=URL))) as one,
        aclosing(new_adapter(replace(options, webhook_url=URL))) as two,
        one.connect(),
        two.connect() as inbound,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(two.receive, request(update("to the second")))
        assert (await anext(inbound)).text == "to the second"
        tasks.cancel_scope.cancel()


async def test_updates_come_through_the_web_server_in_order_and_again_until_they_are_kept(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    relay = Relay()
    async with web_with(relay) as address:
        hook = replace(options, webhook_url=f"{address}/hooks/telegram")
        async with aclosing(new_adapter(hook)) as hooked:
            relay.adapter = hooked
            first, second = platform.say("one"), platform.say("two")
            async with hooked.connect() as inbound:
                assert (await anext(inbound)).text == "one"
            assert platform.updates.pending == [first, second]
            async with hooked.connect() as inbound, anyio.create_task_group() as tasks:
                assert [(await anext(inbound)).text for _ in range(2)] == ["one", "two"]
                tasks.start_soon(ask, inbound)
                await platform.until(lambda: platform.updates.pending == [])
                tasks.cancel_scope.cancel()


async def test_going_back_to_polls_ends_the_webhook(
    hooked: TelegramAdapter, adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with hooked.connect():
        assert platform.updates.webhook_url == URL
    platform.say("hi")
    platform.updates.secret = ""
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"
    assert platform.updates.webhook_url == ""


async def test_an_album_whose_files_come_in_requests_of_their_own_is_one_message_before_what_follows_it(
    hooked: TelegramAdapter,
) -> None:
    answers: list[int] = []

    async def bring(brought: object) -> None:
        answers.append((await hooked.receive(request(brought))).status)

    async with hooked.connect() as inbound, anyio.create_task_group() as tasks:
        for brought in (photo(3), photo(1, caption="the receipts"), photo(2), update("after", 4)):
            tasks.start_soon(bring, brought)
        album = await anext(inbound)
        assert (album.text, [file.url for file in album.attachments]) == (
            "the receipts",
            ["telegram-file:p1", "telegram-file:p2", "telegram-file:p3"],
        )
        assert answers == []
        assert (await anext(inbound)).text == "after"
        while len(answers) < 3:
            await anyio.wait_all_tasks_blocked()
        assert answers == [200] * 3
        tasks.cancel_scope.cancel()


async def test_an_album_that_is_not_kept_is_refused_file_by_file_and_comes_again_whole(
    hooked: TelegramAdapter,
) -> None:
    answers: list[int] = []

    async def bring(brought: object) -> None:
        answers.append((await hooked.receive(request(brought))).status)

    async with anyio.create_task_group() as tasks, hooked.connect() as inbound:
        for brought in (photo(1, caption="the receipts"), photo(2)):
            tasks.start_soon(bring, brought)
        first = await anext(inbound)
    assert answers == [503, 503]
    async with hooked.connect() as inbound, anyio.create_task_group() as tasks:
        for brought in (photo(2), photo(1, caption="the receipts")):
            tasks.start_soon(bring, brought)
        assert await anext(inbound) == first
        tasks.cancel_scope.cancel()


async def test_an_album_of_another_shape_than_telegrams_is_passed_over(hooked: TelegramAdapter) -> None:
    async with hooked.connect():
        odd = {"update_id": 1, "message": {"chat": "of no known shape", "media_group_id": "77"}}
        assert (await hooked.receive(request(odd))).status == 200
