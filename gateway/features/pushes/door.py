"""The routes by which a page asks for notifications, and the script that shows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web.codec import WebVisitor
from adapters.web.requests import room_id
from gateway.feature import FeatureGround, WebGround
from gateway.features.pushes.keys import BadSubscription
from gateway.features.pushes.pusher import Pusher
from gateway.features.pushes.subscriptions import CHOICES, SUBSCRIPTIONS_TABLE, Subscription, Subscriptions
from gateway.web.forms import small_json
from gateway.web.logins.door import AWAY, NOT_READ, LogIn, refused
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.storage.redis.records import RedisRecords

WORKER = Path(__file__).with_name("worker.js")
CHANGES = Budget(rate_per_s=0.5, burst=30)
"""The rate at which one person may change their notifications."""

Answer = Callable[[Request, WebVisitor], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}


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
