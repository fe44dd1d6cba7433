"""Push notifications: what is new of a task, sent to the URLs that its client named, until it is taken. They go over
HTTP, and not into this machine's own network."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import httpx
from a2a.types import AuthenticationInfo, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, PushNotificationNotSupportedError
from a2a.utils.proto_utils import to_stream_response
from anyio.abc import TaskGroup
from google.protobuf.json_format import MessageToDict
from msgspec import Struct
from msgspec.structs import replace

from adapters.records import Records, what_can_be_read
from gateway.clients.feed import EventFeed
from gateway.clients.requests import BusClient
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.features.a2a.messages import GrowingTexts, Mark, Named, updates_of
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.stores.sessions import LeaseHolder, LeaseStore

PIECES_S = 1.0
"""The shortest time between two notifications of a text that grows: what comes meanwhile goes with the next."""

LEASE = "a2a-pushes"
MEDIA_TYPE = "application/a2a+json"

MAX_CONFIGS = 5

GIVE_UP_S = 24 * 3600.0
"""A notification that nobody has taken for so long is let go, with all that would follow."""

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 300.0
_LOOK_S = 1.0
"""The shortest time between two looks for new URLs."""

_MAX_CHARS = 2_000
_POST_LIMIT_S = 15.0


class Push(Struct, frozen=True):
    """One URL of a task. `told` is what the URL's server has taken."""

    client: str
    task: str
    id: str
    url: str
    token: str
    scheme: str
    credentials: str
    context: str
    told: Mark

    @property
    def name(self) -> str:
        return f"{self.task}/{self.id}"

    def __str__(self) -> str:
        return json.dumps(plain_data(self))

    @classmethod
    def read(cls, text: str) -> Push:
        data = json.loads(text)
        return cls(**{**data, "told": Mark(**data["told"])})

    def config(self) -> TaskPushNotificationConfig:
        """As the protocol writes it, without its secrets."""
        found = TaskPushNotificationConfig(id=self.id, task_id=self.task, url=self.url)
        if self.scheme:
            found.authentication.CopyFrom(AuthenticationInfo(scheme=self.scheme))
        return found

    def headers(self) -> dict[str, str]:
        """The headers by which its server knows us."""
        found = {"x-a2a-notification-token": self.token} if self.token else {}
        return {**found, "authorization": f"{self.scheme} {self.credentials}"} if self.credentials else found


PushPost = Callable[[str, object, dict[str, str]], Awaitable[bool]]
"""Posts to a URL something with these headers; whether it was taken. Raises nothing for what can go wrong on the way.
"""


class Pushes:
    """Keeps the URLs, and sends to them while `run` runs and it is this node's turn."""

    def __init__(
        self, tasks: TaskService, feed: EventFeed, records: Records, hosts: Sequence[str], post: PushPost, clock: Clock
    ) -> None:
        self._tasks = tasks
        self._feed = feed
        self._records = records
        self._hosts = frozenset(host.lower() for host in hosts)
        self._post = post
        self.clock = clock
        self._kept = anyio.Event()
        self._sending: dict[str, anyio.CancelScope] = {}

    @property
    def on(self) -> bool:
        return bool(self._hosts)

    def check(self, config: TaskPushNotificationConfig) -> None:
        """Raise an error of the protocol for a URL that nothing is sent to."""
        if not self._hosts:
            raise PushNotificationNotSupportedError("No host for push notifications is configured.")
        texts = (config.id, config.url, config.token, config.authentication.scheme, config.authentication.credentials)
        if any(len(text) > _MAX_CHARS or not text.isprintable() or not text.isascii() for text in texts):
            raise InvalidParamsError("A part of the push notification is too long, or has strange characters.")
        try:
            parts = urlsplit(config.url)
            host = (parts.hostname or "").lower()
            known = {host, f"{host}:{parts.port}"} & self._hosts
        except ValueError:
            known = set()
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or parts.username or parts.password or not known:
            raise InvalidParamsError("Push notifications are sent to configured hosts only, by http or https.")

    async def keep(
        self, client: BusClient, task: ClientTask, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        """Send to a URL from now on; one of the same id is replaced."""
        push = Push(
            client.name,
            task.id,
            config.id or uuid.uuid4().hex,
            config.url,
            config.token,
            config.authentication.scheme,
            config.authentication.credentials,
            Named.of(task).context,
            Mark.of(task),
        )
        others = [each for each in await self._all() if each.task == task.id and each.id != push.id]
        if len(others) >= MAX_CONFIGS:
            raise InvalidParamsError(f"A task has at most {MAX_CONFIGS} URLs for push notifications.")
        await self._records.put(push.name, str(push))
        self._stop(push.name)
        self._look_again()
        return push.config()

    async def of(self, client: BusClient, task: ClientTask) -> list[TaskPushNotificationConfig]:
        return [push.config() for push in await self._all() if (push.task, push.client) == (task.id, client.name)]

    async def forget(self, client: BusClient, task: ClientTask, id_: str) -> None:
        for push in await self._all():
            if (push.task, push.client, push.id) == (task.id, client.name, id_):
                await self._records.remove(push.name)
                self._stop(push.name)

    async def run(self, leases: LeaseStore, holder: LeaseHolder) -> None:
        """Send until cancelled. One node sends for all, and another when its lease has run out."""
        while True:
            token = await leases.acquire(LEASE, holder)
            if token is not None:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._send_here)
                    while await leases.renew(LEASE, holder, token):
                        await self.clock.sleep_until(self.clock.monotonic() + holder.ttl_s / 3)
                    tasks.cancel_scope.cancel()
                self._sending.clear()
            await self.clock.sleep_until(self.clock.monotonic() + holder.ttl_s / 3)

    async def _send_here(self) -> None:
        """Send to every URL, also to those that are named on other nodes: a task that begins, or ends, is news to
        all."""
        async with anyio.create_task_group() as tasks:
            while True:
                kept, rung = self._kept, self._feed.rung
                for push in await self._all():
                    if push.name not in self._sending:
                        self._begin(push, tasks)
                await self.clock.sleep_until(self.clock.monotonic() + _LOOK_S)
                await _first(kept.wait, rung.wait)

    async def _all(self) -> list[Push]:
        return list(what_can_be_read(await self._records.all(), Push.read).values())

    def _begin(self, push: Push, tasks: TaskGroup) -> None:
        self._sending[push.name] = scope = anyio.CancelScope()
        tasks.start_soon(self._keep_sending, push, scope)

    def _stop(self, name: str) -> None:
        scope = self._sending.pop(name, None)
        if scope is not None:
            scope.cancel()

    async def _keep_sending(self, push: Push, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await self._send_all(push)
                await self._records.remove(push.name)
            except StorageError:  # its task cannot be read now, and that is nothing to the others
                await self.clock.sleep_until(self.clock.monotonic() + _LONGEST_PAUSE_S)
        if self._sending.get(push.name) is scope:
            del self._sending[push.name]
            self._look_again()

    def _look_again(self) -> None:
        kept, self._kept = self._kept, anyio.Event()
        kept.set()

    async def _send_all(self, push: Push) -> None:
        """Send what is new, in order, until the task is over. What is taken is noted before more is sent; a text that
        grew when a process died is sent from its beginning, so that nothing of it is there twice."""
        task = await self._tasks.own(SessionId(push.task))
        if not task.program and await self._tasks.gone(task.id):
            return  # it was deleted
        if task.program:
            task = await self._tasks.at(task, push.told.seq)

        async with aclosing(self._tasks.changes(task)) as changes:
            await Telling(self, push, task).run(changes)

    async def note(self, push: Push) -> None:
        """Write down what was taken."""
        if await self._records.get(push.name) is not None:  # its client may have taken it back
            await self._records.put(push.name, str(push))

    async def taken(self, push: Push, body: object) -> bool:
        """Send one notification until it is taken; False when it is given up."""
        pause_s, until = _FIRST_PAUSE_S, self.clock.monotonic() + GIVE_UP_S
        while not await self._post(push.url, body, push.headers()):
            if self.clock.monotonic() + pause_s > until:
                return False
            await self.clock.sleep_until(self.clock.monotonic() + pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return True


class Telling:
    """Tells one URL of one task."""

    def __init__(self, pushes: Pushes, push: Push, task: ClientTask) -> None:
        self._pushes = pushes
        self._push = push
        self._task = task
        self._named = Named(push.task, push.context)
        self._clock = pushes.clock
        self._growing = GrowingTexts(task, anew=True)
        self._due_s = 0.0
        self._turn = anyio.Lock()
        self._waits = False

    async def run(self, changes: AsyncIterator[ClientTask]) -> None:
        """Tell what is new, until the task is over or a notification was given up."""
        told = self._push.told
        async with anyio.create_task_group() as tasks:
            async for now in changes:
                async with self._turn:
                    self._task = now
                    updates = [*self._pieces(tasks), *updates_of(now, self._named, told)]
                    if not await self._tell(updates):
                        break
                    if Mark.of(now) != told:
                        told = Mark.of(now)
                        if not now.over:
                            await self._pushes.note(replace(self._push, told=told))
            tasks.cancel_scope.cancel()

    def _pieces(self, tasks: TaskGroup) -> list[object]:
        """What may be told of texts now. What has to wait is told when its time comes, whatever happens by then."""
        early = self._clock.monotonic() < self._due_s
        pieces = [*self._growing.updates(self._task, self._named.context, finished_alone=early)]
        if pieces and not early:
            self._due_s = self._clock.monotonic() + PIECES_S
        if early and not self._waits and self._task.view.growing:
            self._waits = True
            tasks.start_soon(self._tell_later, tasks)
        return [*pieces]

    async def _tell_later(self, tasks: TaskGroup) -> None:
        await self._clock.sleep_until(self._due_s)
        async with self._turn:
            self._waits = False
            if not await self._tell(self._pieces(tasks)):
                tasks.cancel_scope.cancel()

    async def _tell(self, updates: list[object]) -> bool:
        for update in updates:
            body = MessageToDict(to_stream_response(update))  # type: ignore[arg-type]
            if not await self._pushes.taken(self._push, body):
                return False
        return True


async def _first(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return when the first of them does."""
    async with anyio.create_task_group() as tasks:

        async def wait(one: Callable[[], Awaitable[object]]) -> None:
            await one()
            tasks.cancel_scope.cancel()

        for one in waits:
            tasks.start_soon(wait, one)


class HttpPost:
    """Posts JSON to URLs. Without `private` a host is passed over while any of its addresses is not a public one."""

    def __init__(self, http: httpx.AsyncClient, *, private: bool) -> None:
        self._http = http
        self._private = private

    async def __call__(self, url: str, body: object, headers: dict[str, str], /) -> bool:
        """Whether the URL's server took it: any answer 2xx, which is not read further. Redirects are no such
        answer."""
        try:
            with anyio.fail_after(_POST_LIMIT_S):
                if not (self._private or await _is_public(url)):
                    return False
                content = json.dumps(body, ensure_ascii=False).encode()
                own = {**headers, "content-type": MEDIA_TYPE}
                async with self._http.stream("POST", url, content=content, headers=own) as response:
                    return response.is_success
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError):
            return False


def http_client() -> httpx.AsyncClient:
    """A client without proxies of the environment, which follows no redirects."""
    return httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=_POST_LIMIT_S)


async def _is_public(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = await anyio.getaddrinfo(parts.hostname, port)
    addresses = [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    plain = [getattr(address, "ipv4_mapped", None) or address for address in addresses]
    return bool(plain) and all(address.is_global and not address.is_multicast for address in plain)
