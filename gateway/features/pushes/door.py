"""The routes by which a page asks for notifications, and the script that shows them. And who is not looking is told of
messages, by the push services of their browsers.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web.board import RoomBoard
from adapters.web.charters import RoomCharter
from adapters.web.codec import WebVisitor
from adapters.web.requests import room_id
from gateway.feature import FeatureGround, WebGround
from gateway.features.pushes.keys import MAX_CONTENT, BadSubscription
from gateway.features.pushes.subscriptions import CHOICES, SUBSCRIPTIONS_TABLE, Subscription, Subscriptions, Wishes
from gateway.web.logins.door import AWAY, NOT_READ, LogIn, refused, small_json
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.fairness import oldest_of_largest
from runtime.core.room import RoomMessage
from runtime.storage.redis.records import RedisRecords

if TYPE_CHECKING:
    import httpx

MAX_WAITING = 500
"""The messages that wait to be told; beyond it the oldest of who wrote most is dropped."""

TIMEOUT_S = 10.0
AT_ONCE = 8
"""The browsers that are told at one time."""

LASTS_S = 24 * 3600
"""How long a service keeps a notification for a browser that is off."""

_SHORT = 300
_MENTION = re.compile(r"\[(@[^\]\n]*)\]\(person:([^)\s]*)\)")
_GONE = (404, 410)

LoggedIn = Callable[[str, str], Awaitable[bool]]
"""Whether a person, by id, is logged in still on a device."""
WORKER = Path(__file__).with_name("worker.js")
CHANGES = Budget(rate_per_s=0.5, burst=30)
"""The rate at which one person may change their notifications."""

Answer = Callable[[Request, WebVisitor], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}


class Pusher(Struct, eq=False):
    """`contact` is where the operators of a push service find who runs this gateway."""

    _subscriptions: Subscriptions
    _board: RoomBoard
    _logged_in: LoggedIn
    _clock: Clock
    _contact: str
    _waiting: deque[tuple[str, RoomMessage]] = field(default_factory=deque)
    _news: anyio.Event = field(default_factory=anyio.Event)
    _at_once: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))

    def said(self, room: str, message: RoomMessage) -> None:
        """Something was said, and is finished. Never waits."""
        if message.author_kind != "notice" and not message.deleted:
            self._waiting.append((room, message))
            if len(self._waiting) > MAX_WAITING:
                del self._waiting[oldest_of_largest([_whose(*one) for one in self._waiting])]
            self._news.set()

    async def run(self) -> None:
        http: httpx.AsyncClient | None = None
        async with AsyncExitStack() as stack:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                while self._waiting:
                    room, message = self._waiting.popleft()
                    try:
                        listed = await self._subscriptions.all()
                        if listed and http is None:  # it takes the certificates of the whole world into memory
                            http = await stack.enter_async_context(await to_thread.run_sync(_client))
                        if http is not None:
                            await self._tell(http, listed, room, message)
                    except StorageError:  # the message is in the room
                        continue

    async def _tell(
        self, http: httpx.AsyncClient, listed: Sequence[tuple[str, Wishes]], room: str, message: RoomMessage
    ) -> None:
        charter = await self._board.charters.get(room)
        looking = {person.id for person in self._board.people(room)}
        async with anyio.create_task_group() as tasks:
            for person_id, wishes in listed:
                if person_id in looking or person_id == message.author_id or not charter.lists(person_id):
                    continue
                if not _wanted(room, charter, message, person_id, wishes):
                    continue
                content = _content(room, charter.title_for(person_id), message, wishes)
                for browser in wishes.browsers:
                    tasks.start_soon(partial(self._push, http, person_id, browser, content))

    async def _push(self, http: httpx.AsyncClient, person_id: str, browser: Subscription, content: bytes) -> None:
        import httpx

        async with self._at_once:
            try:
                if not await self._logged_in(person_id, browser.device):
                    await self._subscriptions.unsubscribe(person_id, browser.endpoint)
                    return
                answer = await self._post(http, browser, content)
                if answer in _GONE:
                    await self._subscriptions.unsubscribe(person_id, browser.endpoint)
            except (StorageError, httpx.HTTPError, httpx.InvalidURL, BadSubscription):
                return

    async def _post(self, http: httpx.AsyncClient, browser: Subscription, content: bytes) -> int:
        from gateway.features.pushes.encryption import sealed

        parts = urlsplit(browser.endpoint)
        key = await self._subscriptions.key()
        headers = {
            "authorization": key.authorization(f"{parts.scheme}://{parts.netloc}", self._contact, self._clock.now()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(LASTS_S),
            "urgency": "normal",
        }
        body = sealed(content, browser.p256dh, browser.auth)
        async with http.stream("POST", browser.endpoint, content=body, headers=headers) as answer:
            return answer.status_code


def _whose(room: str, message: RoomMessage) -> str:
    """Who takes the room of a message that waits: its author, or the people of the room in which an agent says it."""
    return message.author_id if message.author_kind == "person" else room


def _client() -> httpx.AsyncClient:
    import httpx

    return httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False)


def mentions(message: RoomMessage, person_id: str, name: str) -> bool:
    """Whether a message mentions a person, is said to them, or answers them."""
    quoted = message.quote is not None and message.quote.author == name
    linked = any(id_ == person_id for _, id_ in _MENTION.findall(message.text))
    written = (
        re.search(rf"(?<![\w@])@{re.escape(name)}(?!\w)", _MENTION.sub("", message.text), re.IGNORECASE) is not None
    )
    return bool(name) and (quoted or linked or written or message.to == name)


def _wanted(room: str, charter: RoomCharter, message: RoomMessage, person_id: str, wishes: Wishes) -> bool:
    choice = wishes.choice(room, otherwise="mentions" if charter.kind == "open" else "all")
    return choice == "all" or (choice == "mentions" and mentions(message, person_id, wishes.name))


def _content(room: str, title: str, message: RoomMessage, wishes: Wishes) -> bytes:
    """What the browser shows; without the text where the person wants that."""
    about: dict[str, str] = {"room": room, "title": title or room, "id": message.id}
    if message.thread is not None:
        about["thread"] = message.thread
    if wishes.shows:
        names = ", ".join(file.name for file in message.files)
        text = " ".join(_MENTION.sub(r"\1", message.text or names).split())
        about |= {"name": message.author_name, "text": text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"}
    content = json.dumps(about, ensure_ascii=False).encode()
    if len(content) > MAX_CONTENT:
        content = json.dumps({key: about[key] for key in ("room", "title", "id")}).encode()
    return content


class PushDoor:
    """`GET /push`, `POST /push/…` and `/worker.js`."""

    def __init__(self, log_in: LogIn, subscriptions: Subscriptions, clock: Clock) -> None:
        self._log_in = log_in
        self._subscriptions = subscriptions
        self._changes = KeyedBudgets(CHANGES, clock)

    def routes(self) -> list[Route]:
        changes: dict[str, Answer] = {
            "/push/subscribe": self._subscribe,
            "/push/unsubscribe": self._unsubscribe,
            "/push/choose": self._choose,
            "/push/show": self._show,
        }
        return [
            Route("/worker.js", self._worker),
            Route("/push", self._known(self._get)),
            *(Route(path, self._known(answer), methods=["POST"]) for path, answer in changes.items()),
        ]

    async def _worker(self, _: Request) -> Response:
        return FileResponse(WORKER, media_type="text/javascript", headers={"cache-control": "no-cache"})

    def _known(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """A route for people who are logged in."""

        async def route(request: Request) -> Response:
            try:
                person = await self._log_in.person(request)
                if person is None:
                    return refused("Choose a name first.", 401)
                if request.method == "POST" and not self._changes.take(person.id):
                    return refused("That is a lot at once. Try again in a moment.", 429)
                return await answer(request, person)
            except BadSubscription:
                return refused(NOT_READ, 400)
            except StorageError:
                return refused(AWAY, 503)

        return route

    async def _get(self, _: Request, person: WebVisitor) -> Response:
        """What the person wants: {key, shows, choices, browsers [endpoint…]}."""
        wishes, key = await self._subscriptions.of(person.id), await self._subscriptions.key()
        about = {
            "key": key.public,
            "shows": wishes.shows,
            "choices": dict(wishes.choices or {}),
            "browsers": [browser.endpoint for browser in wishes.browsers],
        }
        return JSONResponse(about, headers=_NO_STORE)

    async def _subscribe(self, request: Request, person: WebVisitor) -> Response:
        """This browser, {endpoint, p256dh, auth}."""
        form = await small_json(request) or {}
        device = self._log_in.device(request)
        browser = Subscription(form.get("endpoint", ""), form.get("p256dh", ""), form.get("auth", ""), device)
        if not await self._subscriptions.subscribe(person.id, person.name, browser):
            return refused("This address is not one of a browser's push service.", 422)
        return Response(status_code=204)

    async def _unsubscribe(self, request: Request, person: WebVisitor) -> Response:
        """Not this browser any more, {endpoint}."""
        form = await small_json(request) or {}
        await self._subscriptions.unsubscribe(person.id, form.get("endpoint", ""))
        return Response(status_code=204)

    async def _choose(self, request: Request, person: WebVisitor) -> Response:
        """What to hear of a room, {room, choice}."""
        form = await small_json(request) or {}
        choice = next((one for one in CHOICES if one == form.get("choice")), None)
        room = form.get("room", "")
        if choice is None or not room or room_id(room) != room:
            return refused(NOT_READ, 400)
        await self._subscriptions.choose(person.id, room, choice)
        return Response(status_code=204)

    async def _show(self, request: Request, person: WebVisitor) -> Response:
        """Whether notifications show the text, {shows: yes | no}."""
        form = await small_json(request) or {}
        if form.get("shows") not in ("yes", "no"):
            return refused(NOT_READ, 400)
        await self._subscriptions.show(person.id, shows=form["shows"] == "yes")
        return Response(status_code=204)


def open_pushes(ground: FeatureGround, web: WebGround) -> list[Route]:
    """The routes by which pages ask; people are told as long as the connection lives."""
    subscriptions = Subscriptions(RedisRecords(ground.connection, SUBSCRIPTIONS_TABLE), ground.clock)
    hosts = ground.settings.web.public_hosts
    contact = f"https://{hosts[0]}" if hosts else "mailto:operator@localhost"
    pusher = Pusher(subscriptions, web.board, web.log_in.is_logged_in, ground.clock, contact)
    web.board.on_said = pusher.said
    ground.connection.start_soon(pusher.run)
    return PushDoor(web.log_in, subscriptions, ground.clock).routes()
