"""Reloading in a running gateway: programs, routes, roles and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from anyio import to_thread
from anyio.abc import TaskGroup
from msgspec import Struct

from adapters.records import ChangedTogether
from adapters.web.echo import RoomNews
from gateway.access.admission import PlatformOwners
from gateway.assembly.checking import extension_names, refuse_errors
from gateway.assembly.foundation import GatewayFoundation
from gateway.capabilities import FEATURES
from gateway.catalog import rules_of
from gateway.dev.board import DevBoard
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.inbound.routing import Routes
from gateway.inbound.usage_limits import UsageLimits
from gateway.models.opening import check_programs
from gateway.programs import versions as kept
from gateway.programs.loading import ServedPrograms, completed
from gateway.programs.reloading import PROGRAM_NEWS, ProgramReloading, ProgramSet, TellOwners, watch
from gateway.programs.second_reader import SecondReader, SecondReading
from gateway.service import ServedPlatform
from gateway.settings.tree import Settings
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.events.happening import Tell
from runtime.events.service import ProgramDoubted, ProgramRefused
from runtime.events.sessions import PlaybookFailed
from runtime.language.program import Program
from runtime.language.remote import servers_of


async def versions_of(
    settings: Settings, records: Callable[[str], ChangedTogether], programs: ServedPrograms, tell: Tell, *, serves: bool
) -> tuple[kept.KeptVersions | None, kept.PinnedPrograms]:
    """The versions of programs, of which these are served from now on, None on a front; and those that are served in
    the place of what the files have.
    """
    taken, texts, clock = records(kept.VERSIONS_TABLE), records(kept.TEXTS_TABLE), SystemClock()
    versions = kept.KeptVersions(taken, texts, clock, partial(completed, settings))
    pinned = kept.PinnedPrograms(kept.VersionPins(records(kept.PINS_TABLE), taken, clock), versions, programs)
    served, held = await pinned.served(pinned.read)
    try:
        settings.participants.check(served.values())
        check_programs(settings, served.values())
        _check_servers(pinned.read.values(), served.values())
        programs.replace(served)
    except ConfigError as error:
        for name in held:
            tell(ProgramRefused(name, f"it cannot stay rolled back: {error}"))
        await pinned.give_up(held)
    if not serves:
        return None, pinned
    await versions.take_up(programs.values())
    return versions, pinned


class Affected(Struct, frozen=True):
    platforms: Mapping[str, ServedPlatform]
    owners: PlatformOwners
    limits: UsageLimits

    def apply(self, settings: Settings) -> None:
        for name, platform in self.platforms.items():
            rules = rules_of(settings, name)
            platform.access.take(rules)
            self.owners.take(name, rules)
        self.limits.settings = settings.limits


def _check_servers(before: Iterable[Program], now: Iterable[Program]) -> None:
    """Raise ConfigError for programs with remote agents that the programs of the start did not prepare for."""
    known = servers_of(before)
    variables = {name for _, spec in known for name in spec.variables}
    for agent, spec in servers_of(now):
        if not known or not variables >= set(spec.variables):
            raise ConfigError(
                f"{agent.span}: {agent.name} is a remote agent that was not there at the start; restart the gateway."
            )


class NodeReloads(Struct, frozen=True):
    """The reloads of this node, and those that an owner wants of all nodes; `pins` are news of what is rolled back."""

    reloading: ProgramReloading
    _news: RoomNews
    _pins: RoomNews

    async def answer(self, given: GivenCommand) -> CommandAnswer:
        """The answer to /reload, of which every node hears. Errors and keys are for owners alone to read."""
        await self._news.tell(self._news.node)
        return CommandAnswer((await self.reloading.reload()).told(given.texts, private=given.private))

    async def follow(self) -> None:
        """Reload when another node was asked to. What was asked for while nobody listened is not made up for."""
        await self._news.listen(_opened, self._heard)

    async def follow_pins(self) -> None:
        """Keep to what owners have rolled back, also while nobody listened."""
        await self._pins.listen(self.reloading.keep_to_pins, lambda _: self.reloading.keep_to_pins())

    async def _heard(self, by: str) -> None:
        if by != self._news.node:
            await self.reloading.reload()


async def _opened() -> None:
    """Nothing is missed."""


def reloading_of(
    foundation: GatewayFoundation,
    programs: ProgramSet,
    affected: Affected,
    tell: TellOwners,
    news: Callable[[str], RoomNews],
    tasks: TaskGroup,
) -> NodeReloads:
    """What reloads this process. In `tasks` it follows the other nodes, and watches files if the settings want it."""
    own = foundation.settings
    before = list(programs.pinned.read.values())

    def check(settings: Settings, routes: Routes, found: Mapping[str, Program]) -> None:
        check_programs(settings, found.values())
        _check_servers(before, found.values())
        for feature in FEATURES:
            feature.check(settings, routes, dict.fromkeys(settings.platform_names, True))
            feature.judge(settings, routes, found)

    made = ProgramReloading(programs, own, foundation.routes, foundation.clock, foundation.bus, tell)
    names = extension_names(own)

    async def look(files: Sequence[Path]) -> None:
        await to_thread.run_sync(refuse_errors, files, names)

    made.check, made.apply, made.look = check, affected.apply, look
    reloads = NodeReloads(made, news(PROGRAM_NEWS), news(kept.PIN_NEWS))
    tasks.start_soon(reloads.follow)
    tasks.start_soon(reloads.follow_pins)
    if isinstance(foundation.debugger, DevBoard):
        foundation.debugger.attach(made, foundation.database.inbox, foundation.clock)
        foundation.bus.hear(PlaybookFailed, foundation.debugger.failed)
    tasks.start_soon(_read_again, foundation, made)
    if own.programs.reload:
        tasks.start_soon(watch, made, foundation.bus, Path.cwd())
    return reloads


async def _read_again(foundation: GatewayFoundation, reloading: ProgramReloading) -> None:
    settings, bus, models = foundation.settings, foundation.bus, foundation.models
    board = foundation.debugger if isinstance(foundation.debugger, DevBoard) else None
    reads = settings.programs.second_reader and not settings.asks_alone
    if models is None or not reads or (board and not board.reads_again):
        return

    def heard(name: str, reading: SecondReading) -> None:
        if board is not None:
            board.doubt(name, reading)
            return
        for one in reading.found:
            bus.publish(ProgramDoubted(name, str(one.span), one.hint))

    reader = SecondReader(settings, partial(nullcontext, models.client_for("compile")), bus.publish)
    await reader.follow(foundation.programs, reloading, heard)
