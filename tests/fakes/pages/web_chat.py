"""The whole browser chat on a free port, without a runtime behind it."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

import anyio
from msgspec.structs import replace

from adapters.adapter import AnswersHttp
from adapters.web.adapter import RoomTables, WebAdapter
from adapters.web.codec import WebVisitor
from adapters.web.rooms import MAX_TEXT, RoomRules
from gateway.features.pushes.door import PushDoor
from gateway.features.pushes.subscriptions import Subscriptions
from gateway.web.app import build_web
from gateway.web.files import FileRoutes, hook_routes
from gateway.web.guard import health_routes
from gateway.web.identity import COOKIE, ReservedNames, WebIdentities
from gateway.web.logins.door import LogIn, OpenPages, PasswordLogIn
from gateway.web.server import ServerRules, serve
from runtime.core.clock import Clock, SystemClock
from tests.fakes.memory.files import MemoryFileStore
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.room_store import RoomStoreThatFails

SECRET = "a secret of the tests"
COMMANDS = {
    "help": "list what you can do here",
    "new": "end this conversation and start another",
    "status": "what is going on",
    "stop": "stop what is running",
}


@dataclass
class WebChat:
    """A running chat. `reasons` are why it is not ready."""

    store: RoomStoreThatFails
    adapter: WebAdapter
    port: int
    identities: WebIdentities
    pages: OpenPages
    reasons: list[str] = field(default_factory=list)
    files: MemoryFileStore = field(default_factory=MemoryFileStore)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cookie(self, person: WebVisitor) -> str:
        """The Cookie header of a browser in which this person has logged in."""
        return f"{COOKIE}={self.identities.cookie(person)}"


@asynccontextmanager
async def web_chat(
    store: RoomStoreThatFails | None = None,
    *,
    port: int = 0,
    password: str | None = None,
    receivers: Mapping[str, AnswersHttp] | None = None,
    commands: Mapping[str, str] = COMMANDS,
    agents: Sequence[str] = (),
    trusted_proxies: Sequence[str] = (),
    clock: Clock | None = None,
    mentions_only: Sequence[str] = (),
    log_in: LogIn | None = None,
    tables: RoomTables | None = None,
    owners: Sequence[str] = (),
    out: Sequence[str] = (),
    voice_s: int = 0,
    max_text: int = MAX_TEXT,
    begins: Sequence[str] = (),
    barred: Mapping[str, Sequence[str]] = MappingProxyType({}),
    pushes: Subscriptions | None = None,
) -> AsyncGenerator[WebChat]:
    """Serve until the block ends. `agents` are the names that nobody may take, `owners` people's ids, `out`
    those who cannot come in any more; for `mentions_only` see `Hearing`. `begins` are commands of programs, `barred`
    those that somebody of a name may not give."""
    identities = WebIdentities(SECRET, password, SystemClock())
    reserved, open_pages = ReservedNames(agents), OpenPages()

    async def is_owner(person: str) -> bool:
        return person in owners

    async def shut_out(ids: Collection[str]) -> Collection[str]:
        return set(ids) & set(out)

    is_agent = reserved.__contains__
    rules = RoomRules(
        is_agent=is_agent,
        mentions_only=mentions_only,
        agents=agents,
        is_owner=is_owner,
        shut_out=shut_out,
        begins=begins.__contains__,
        voice_s=voice_s,
        max_text=max_text,
    )
    clock = clock or SystemClock()
    rooms = store or RoomStoreThatFails()
    reasons: list[str] = []
    files = MemoryFileStore()
    adapter = WebAdapter(
        replace(tables or memory_tables(), rooms=rooms), clock, files=files, commands=commands, rules=rules
    )
    known = log_in or PasswordLogIn(identities, reserved, clock)
    mounts = [
        *health_routes(lambda: reasons, None),
        *hook_routes(receivers or {}),
        *FileRoutes(known, files, adapter.shown_files, clock).routes(),
        *([] if pushes is None else PushDoor(known, pushes, clock).routes()),
    ]

    async def barred_from(person: WebVisitor) -> Sequence[str]:
        return barred.get(person.name, ())

    app = build_web(adapter, known, mounts, pages=open_pages, barred=barred_from)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(adapter.tell_pages)
        real_port = await tasks.start(serve, app, "127.0.0.1", port, ServerRules(trusted_proxies))
        yield WebChat(rooms, adapter, real_port, identities, open_pages, reasons, files)
        tasks.cancel_scope.cancel()


def named_alone() -> LogIn:
    """A log-in for servers where nobody chats."""
    return PasswordLogIn(WebIdentities(SECRET, None, SystemClock()), ReservedNames(), SystemClock())
