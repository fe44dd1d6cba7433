"""Tells people who are not looking of messages, by the push services of their browsers."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from adapters.web.board import RoomBoard
from adapters.web.charters import RoomCharter
from gateway.features.pushes.keys import MAX_CONTENT, BadSubscription
from gateway.features.pushes.subscriptions import Subscription, Subscriptions, Wishes
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.fairness import oldest_of_largest
from runtime.core.room import RoomMessage

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


class Pusher:
    """`contact` is where the operators of a push service find who runs this gateway."""

    def __init__(
        self, subscriptions: Subscriptions, board: RoomBoard, logged_in: LoggedIn, clock: Clock, contact: str
    ) -> None:
        self._subscriptions = subscriptions
        self._board = board
        self._logged_in = logged_in
        self._clock = clock
        self._contact = contact
        self._waiting: deque[tuple[str, RoomMessage]] = deque()
        self._news = anyio.Event()
        self._at_once = anyio.CapacityLimiter(AT_ONCE)

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
