"""Everything that runs in a run: platforms, model, wires, server and gateways, each of which can be struck."""

import json
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from tests.chaos.clock import FakeTime
from tests.chaos.disk import small_disk
from tests.chaos.model import ScriptedModel
from tests.chaos.places import DiscordPlace, Place, SlackPlace, TelegramPlace, WebPlace
from tests.chaos.plan import Cast, Plan
from tests.chaos.stories import STORIES
from tests.chaos.valkey import OutsideServer
from tests.chaos.wire import Wire
from tests.e2e.gateway_process import Gateway
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.models.openai_server import OpenAIServer
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import CHANNEL, DIRECT
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram import server as telegram_server
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform

_FIRST_CHAT = 700
_FIRST_GROUP = -1001000000700
_CONNECTED_LIMIT_S = 120.0
_SLACK_PATIENCE_S = (3.0, 4.0, 8.0, 16.0)
"""As often as Slack, but sooner: nobody waits six minutes for a round to end."""
_RESTART_PAUSE_S = 0.5
_PATIENT_MINUTES = "10080"
"""By a clock that is put forward, what people write is old at once: docs/running/recovery.md."""
_MOST_STARTS = 10
_MISBEHAVES = 0.2


@dataclass(frozen=True)
class Platforms:
    """The worlds in which people talk."""

    telegram: TelegramPlatform = field(default_factory=TelegramPlatform)
    slack: SlackPlatform = field(default_factory=SlackPlatform)
    discord: DiscordPlatform = field(default_factory=DiscordPlatform)


@dataclass
class Node:
    """A gateway, whether or not it is up just now. `deaths` says why its process has ended, each time that it was not
    we who ended it; `logs` are all events that it wrote down, `others` all other lines."""

    gateway: Gateway
    wire: Wire | None
    data_dir: Path
    ending: bool = False
    kills: int = 0
    deaths: list[str] = field(default_factory=list)
    logs: list[dict[str, object]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    starting: anyio.Lock = field(default_factory=anyio.Lock)
    back: anyio.Event = field(default_factory=anyio.Event)

    def end(self, number: signal.Signals = signal.SIGKILL) -> bool:
        """Send it a signal that ends it, if it runs."""
        if not self.gateway.running:
            return False
        self.ending, self.back = True, anyio.Event()
        self.kills += 1
        os.kill(self.gateway.process_id, number)
        return True

    async def up(self) -> None:
        """Start it, unless it runs. One that ends before it is ready is started again after a moment."""
        async with self.starting:
            failed = 0
            while not self.gateway.running:
                self.keep_logs()
                kills = self.kills
                try:
                    await self.gateway.start()
                except AssertionError as error:
                    failed += 1
                    if failed == _MOST_STARTS:
                        raise
                    if kills == self.kills:
                        self.deaths.append(f"at its start: {error}")
                    await self.gateway.gone()
                    await anyio.sleep(_RESTART_PAUSE_S)
            self.ending = False
            self.back.set()

    def keep_logs(self) -> None:
        """Take over what the process wrote."""
        for line in self.gateway.output.splitlines():
            try:
                read = json.loads(line)
            except ValueError:
                self.others.append(line)
                continue
            if isinstance(read, dict):
                self.logs.append(read)
        self.gateway.output = ""


@dataclass
class Stage:
    """One run's processes. `counts` is for the table."""

    plan: Plan
    platforms: Platforms
    model: ScriptedModel
    clock: FakeTime
    places: list[Place]
    nodes: list[Node]
    server: OutsideServer | None
    disk: Path | None
    platform_wires: list[Wire]
    model_wire: Wire
    tasks: TaskGroup
    counts: Counter[str]

    def socket(self) -> Path:
        """Where the server itself is reached, past every wire."""
        return self.server.socket if self.server is not None else self.nodes[0].data_dir / "valkey.sock"


@asynccontextmanager
async def staged(plan: Plan, directory: Path, counts: Counter[str]) -> AsyncIterator[Stage]:
    """Start everything that the plan needs; all of it ends with the block."""
    platforms = Platforms()
    platforms.slack.events.patience_s = _SLACK_PATIENCE_S
    model = ScriptedModel(plan.seed, misbehaves=_MISBEHAVES)
    clock = FakeTime(directory / "clock")
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        answering = await stack.enter_async_context(OpenAIServer(model.answer))
        wires = [await stack.enter_async_context(Wire(port).carrying()) for port in await _platforms(platforms, stack)]
        _tell_addresses(platforms, wires)
        model_wire = await stack.enter_async_context(Wire(answering.port).carrying())
        disk = stack.enter_context(small_disk(directory / "disk"))
        state = disk or directory / "disk"
        state.mkdir(exist_ok=True)
        places: list[Place] = []
        routes: list[tuple[str, str, Cast]] = []
        server = await _server(plan, state, clock, stack)
        environment = _environment(platforms, wires, clock)
        if any(STORIES[cast.story].needs_model for cast in plan.casts):
            environment |= _model_environment(model_wire)
        numbers = range(2 if plan.shape == "pair" else 1)
        nodes = [await _node(number, state, server, environment, stack, tasks) for number in numbers]
        for number, cast in enumerate(plan.casts):
            place, platform, chat = _place(number, cast, platforms, nodes, counts)
            places.append(place)
            routes.append((platform, chat, cast))
        for node in nodes:
            (node.data_dir / "parley.toml").write_text(_routes(routes))
        stage = Stage(
            plan, platforms, model, clock, places, nodes, server, disk, wires, model_wire, tasks, counts
        )  # fmt: skip
        async with anyio.create_task_group() as starting:
            for node in nodes:
                starting.start_soon(node.up)
        await _connected(platforms)
        for place in places:
            if isinstance(place, WebPlace):
                tasks.start_soon(place.watch)
        yield stage
        with anyio.CancelScope(shield=True):
            for node in nodes:
                node.gateway.kill()
                await node.gateway.gone()


async def _connected(platforms: Platforms) -> None:
    """Whoever was never there has missed nothing: a bot's platforms are listened to before anybody speaks."""
    with anyio.fail_after(_CONNECTED_LIMIT_S):
        await platforms.telegram.until(lambda: platforms.telegram.updates.waiting)
        await platforms.slack.until(lambda: bool(platforms.slack.events.connections))
        await platforms.discord.until(lambda: platforms.discord.gateway.connected)


async def _platforms(platforms: Platforms, stack: AsyncExitStack) -> list[int]:
    addresses = [
        await stack.enter_async_context(telegram_server.serving(platforms.telegram)),
        await stack.enter_async_context(slack_server.serving(platforms.slack)),
        await stack.enter_async_context(discord_wire.serving(platforms.discord)),
    ]
    return [int(address.rpartition(":")[2]) for address in addresses]


def _tell_addresses(platforms: Platforms, wires: Sequence[Wire]) -> None:
    """Platforms name their own addresses; what they name are the wires."""
    _, slack, discord = (wire.port for wire in wires)
    platforms.slack.socket_address = f"ws://127.0.0.1:{slack}/socket"
    platforms.slack.files.address = f"http://127.0.0.1:{slack}"
    platforms.discord.gateway.address = f"ws://127.0.0.1:{discord}"
    platforms.discord.world.files_at = f"http://127.0.0.1:{discord}"


async def _server(plan: Plan, state: Path, clock: FakeTime, stack: AsyncExitStack) -> OutsideServer | None:
    if plan.shape == "alone":
        return None
    directory = state / "server"
    directory.mkdir()
    server = OutsideServer(directory, {"PATH": "/usr/bin:/bin", **clock.environment})
    await server.start()
    stack.callback(server.kill)
    return server


async def _node(
    number: int,
    state: Path,
    server: OutsideServer | None,
    environment: Mapping[str, str],
    stack: AsyncExitStack,
    tasks: TaskGroup,
) -> Node:
    data_dir = state / f"node{number}"
    data_dir.mkdir()
    wire: Wire | None = None
    if server is not None:
        wire = await stack.enter_async_context(Wire(server.socket, state / f"wire{number}.sock").carrying())
        environment = {**environment, "PARLEY_REDIS_URL": f"unix://{wire.path}"}
    return Node(Gateway(data_dir, None, environment, tasks), wire, data_dir)


def _environment(platforms: Platforms, wires: Sequence[Wire], clock: FakeTime) -> dict[str, str]:
    telegram, slack, discord = (f"http://127.0.0.1:{wire.port}" for wire in wires)
    return {
        "PARLEY_TELEGRAM__TOKEN": TOKEN,
        "PARLEY_TELEGRAM__BASE_URL": f"{telegram}/bot",
        "PARLEY_TELEGRAM__ACCESS": "open",
        "PARLEY_SLACK__BOT_TOKEN": platforms.slack.bot_token,
        "PARLEY_SLACK__APP_TOKEN": platforms.slack.app_token,
        "PARLEY_SLACK__BASE_URL": f"{slack}/api/",
        "PARLEY_SLACK__ACCESS": "open",
        "PARLEY_DISCORD__TOKEN": discord_wire.TOKEN,
        "PARLEY_DISCORD__BASE_URL": f"{discord}/api/v10",
        "PARLEY_DISCORD__ACCESS": "open",
        "PARLEY_LOGS__FORMAT": "json",
        **{f"PARLEY_{name}__MAX_AGE_MINUTES": _PATIENT_MINUTES for name in ("TELEGRAM", "SLACK", "DISCORD")},
        **clock.environment,
    }


def _model_environment(model: Wire) -> dict[str, str]:
    return {
        "PARLEY_MODEL": "openai/test",
        "PARLEY_MODEL_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
        "PARLEY_MODEL_API_KEY": "key",
    }


def _place(
    number: int, cast: Cast, platforms: Platforms, nodes: Sequence[Node], counts: Counter[str]
) -> tuple[Place, str, str]:
    """The conversation, its platform, and the chat by which a route knows it."""
    world = platforms.discord.world
    match cast.place:
        case "telegram":
            chat = _FIRST_CHAT + number
            return TelegramPlace(platforms.telegram, chat, chat), "telegram", str(chat)
        case "group":
            platforms.telegram.chats.open(_FIRST_GROUP)
            return TelegramPlace(platforms.telegram, _FIRST_GROUP, 42), "telegram", str(_FIRST_GROUP)
        case "slack":
            return SlackPlace(platforms.slack, counts, direct=False), "slack", f"{TEAM}:{CHANNEL}"
        case "slack direct":
            return SlackPlace(platforms.slack, counts, direct=True), "slack", f"{TEAM}:{DIRECT}"
        case "discord":
            return DiscordPlace(platforms.discord, person=None), "discord", world.general
        case "discord direct":
            return DiscordPlace(platforms.discord, person=f"Eve{number}"), "discord", ""
        case "web":
            room = f"room-{number}"
            return WebPlace(room, nodes[number % len(nodes)].gateway), "web", room


def _routes(routes: Sequence[tuple[str, str, Cast]]) -> str:
    """The settings' table: each conversation's program; those of a whole platform stand last."""
    rows = []
    for platform, chat, cast in sorted(routes, key=lambda route: not route[1]):
        place = f'chat = "{chat}"\n' if chat else ""
        row = f'[[route]]\nprogram = "{STORIES[cast.story].program}"\nname = "{cast.story}"\nplatform = "{platform}"\n'
        rows.append(row + place)
    return "\n".join(rows)
