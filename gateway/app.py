"""The composition root: the only place that names concrete classes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import AnswersHttp, CanShowTyping, HoldsConnections
from adapters.edit_scheduler import EditScheduler
from adapters.presenter import Presenter, Typing
from adapters.web.adapter import WebAdapter
from gateway.access import Access
from gateway.catalog import Ground, Listed, listed
from gateway.commands import menu
from gateway.files import Files
from gateway.inbound import Entrance, InboundRouter
from gateway.node import Node
from gateway.observability.logs import LogOptions, Logs
from gateway.outbound import Outbound
from gateway.parts import chosen_model, open_choice, plain
from gateway.service import Platform, Ready, Service
from gateway.settings import Settings
from gateway.web.app import WebOptions, build_web
from gateway.web.identity import persistent_secret
from gateway.web.server import serve as serve_web
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.texts import Texts, load_texts
from runtime.language.compiler import compile_program
from runtime.language.lowering import Lowerer
from runtime.language.model_lowering import ModelLowerer
from runtime.language.program import Program
from runtime.language.rules import RulesLowerer
from runtime.llm.choice import NoModel
from runtime.llm.client import LLMClient
from runtime.llm.local import NoModelClient
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from runtime.sandbox.wrapping import wrap_worker
from runtime.sessions.registry import Registry
from runtime.sessions.session import Surroundings
from runtime.sessions.store import LeaseHolder
from runtime.storage.data_directory import exclusive_use, node_id, prepare
from runtime.storage.embedded import EmbeddedValkey
from runtime.storage.redis.connection import RedisConnection, open_connection
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.people import RedisPeopleStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.session_store import RedisSessionStore


@dataclass(frozen=True, slots=True)
class _Ground:
    """What must be there before anything is wired."""

    settings: Settings
    program: Program
    llm: LLMClient
    model_line: str
    sandbox: MontySandbox
    connection: RedisConnection
    clock: Clock
    bus: Bus
    data_dir: Path
    texts: Texts


async def serve(settings: Settings, programs: Sequence[Path], *, on_ready: Callable[[Ready], None]) -> None:
    """Run the gateway until cancelled. Raises ConfigError and ProgramError before anything is shown to anybody."""
    clock = SystemClock()
    bus = Bus(clock)
    texts = load_texts(settings.language, settings.texts_dir)
    Logs(_log_options(settings), secrets=_secrets(settings)).attach(bus)
    data_dir = prepare(settings.data_dir)
    async with AsyncExitStack() as stack:
        stack.enter_context(exclusive_use(data_dir))
        llm, model_line = await _model(settings, stack)
        program = await _compiled(settings, programs, llm, data_dir)
        sandbox = await stack.enter_async_context(_sandbox(settings))
        connection = await stack.enter_async_context(_storage(settings, data_dir, bus))
        ground = _Ground(settings, program, llm, model_line, sandbox, connection, clock, bus, data_dir, texts)
        async with anyio.create_task_group() as tasks:
            await _start(ground, stack, tasks, on_ready)


async def _start(ground: _Ground, stack: AsyncExitStack, tasks: TaskGroup, on_ready: Callable[[Ready], None]) -> None:
    clock, bus, settings, connection = ground.clock, ground.bus, ground.settings, ground.connection
    web = WebAdapter(RedisRoomStore(connection), clock)
    inbox = RedisInbox(connection)
    records = partial(RedisRecords, connection)
    chosen = list(listed(Ground(settings, clock, records, commands=menu(ground.texts), texts=ground.texts), web))
    outbound = _outbound(chosen, clock, bus, tasks, stack)
    files = Files({one.adapter.name: one.adapter for one in chosen}, RedisFileStore(connection))
    around = Surroundings(
        ground.program, RedisSessionStore(connection), outbound, ground.sandbox, ground.llm, clock, bus, files=files
    )
    registry = Registry(around, inbox, tasks)
    node = Node(RedisLeaseStore(connection), inbox, LeaseHolder(node_id(ground.data_dir)), clock)
    platforms: dict[str, Platform] = {}
    entrance = Entrance(inbox, outbound.say, bus, ground.texts, settings.limits.message_chars)
    for one in chosen:
        access = Access(one.adapter.name, one.rules, RedisPeopleStore(connection), clock)
        await access.open()
        router = InboundRouter(one.adapter, access, entrance)
        platforms[one.adapter.name] = Platform(one.adapter, access, router, one.exclusive)
    service = Service(node, registry, platforms, bus)
    receivers = {one.adapter.name: one.adapter for one in chosen if isinstance(one.adapter, AnswersHttp)}
    port = await tasks.start(_serve_web, web, service, ground, receivers)
    await service.start(tasks)
    on_ready(Ready(f"http://{_host_for_people(settings.web.host)}:{port}", _lines(ground, platforms)))
    if isinstance(ground.llm, NoModelClient):
        return
    tasks.start_soon(_warm_up, ground.llm)


def _outbound(chosen: Sequence[Listed], clock: Clock, bus: Bus, tasks: TaskGroup, stack: AsyncExitStack) -> Outbound:
    presenters: dict[str, Presenter] = {}
    typing: dict[str, Typing] = {}
    for one in chosen:
        adapter = one.adapter
        scheduler = EditScheduler(adapter.capabilities.total_budget, clock, tasks)
        presenters[adapter.name] = Presenter(adapter, scheduler, clock, on_event=bus.publish)
        if isinstance(adapter, CanShowTyping):
            typing[adapter.name] = Typing(adapter, scheduler, clock, tasks)
        if isinstance(adapter, HoldsConnections):
            stack.push_async_callback(_closed, adapter)
    return Outbound(presenters, typing, tasks)


async def _closed(adapter: HoldsConnections) -> None:
    with anyio.move_on_after(0.3, shield=True):
        await adapter.aclose()


async def _serve_web(
    web: WebAdapter,
    service: Service,
    ground: _Ground,
    receivers: Mapping[str, AnswersHttp],
    *,
    task_status: anyio.abc.TaskStatus[int],
) -> None:
    own = ground.settings.web
    options = WebOptions(
        persistent_secret(ground.data_dir / "web-secret"), plain(own.password), own.host, own.public_hosts
    )
    app = build_web(web, service.not_ready, options, ground.clock, receivers=receivers)
    await serve_web(app, own.host, own.port, task_status=task_status)


async def _warm_up(llm: LLMClient) -> None:
    warm_up = getattr(llm, "warm_up", None)
    if warm_up is not None:
        await warm_up()


def _lines(ground: _Ground, platforms: dict[str, Platform]) -> list[str]:
    lines = [f"program    {ground.program.name}", f"model      {ground.model_line}"]
    for name, platform in platforms.items():
        if platform.access.code is not None:
            lines.append(f"{name:<10} send this code to the bot to become its owner: {platform.access.code}")
        elif name != "web":
            lines.append(f"{name:<10} listening")
    return lines


def _host_for_people(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host


async def _model(settings: Settings, stack: AsyncExitStack) -> tuple[LLMClient, str]:
    choice = await chosen_model(settings)
    if isinstance(choice, NoModel):
        return NoModelClient(choice.reason), f"none. {choice.reason}"
    return await stack.enter_async_context(open_choice(choice, settings)), f"{choice.name} ({choice.reason})"


async def _compiled(settings: Settings, programs: Sequence[Path], llm: LLMClient, data_dir: Path) -> Program:
    lowerer: Lowerer = RulesLowerer() if settings.compiler == "rules" else ModelLowerer(llm)
    result = await compile_program(programs, lowerer=lowerer, cache_dir=data_dir / "compiled")
    return result.program


@asynccontextmanager
async def _storage(settings: Settings, data_dir: Path, bus: Bus) -> AsyncIterator[RedisConnection]:
    async with AsyncExitStack() as stack:
        location: Path | str | None = settings.redis_url
        if location is None:
            location = await stack.enter_async_context(EmbeddedValkey(data_dir))
        yield await stack.enter_async_context(open_connection(location, on_event=bus.publish))


@asynccontextmanager
async def _sandbox(settings: Settings) -> AsyncIterator[MontySandbox]:
    limits = SandboxLimits(feed_s=settings.sandbox.seconds, memory_bytes=settings.sandbox.memory_mib * 1024 * 1024)
    with TemporaryDirectory(prefix="parley-") as directory:
        wrapping = await wrap_worker(Path(directory))
        async with MontySandbox(
            max_workers=settings.sandbox.workers, limits=limits, wrapper=wrapping.wrapper
        ) as sandbox:
            yield sandbox


def _log_options(settings: Settings) -> LogOptions:
    return LogOptions(settings.logs.level, settings.logs.format)


def _secrets(settings: Settings) -> frozenset[str]:
    slack, discord = settings.slack, settings.discord
    found = (
        settings.telegram.token,
        slack.bot_token,
        slack.app_token,
        discord.token,
        settings.model_api_key,
        settings.web.password,
    )
    return frozenset(secret.get_secret_value() for secret in found if secret is not None)
