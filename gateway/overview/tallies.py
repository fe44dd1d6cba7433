"""What each process has seen, for all of them: each writes its own down, and who asks reads all of it. Counts of how
models and tool servers answered since a process began.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import anyio
from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from adapters.records import Records, what_can_be_read
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart, LLMBrokeOff
from runtime.events.service import ModelFellBack
from runtime.events.sessions import OfServer, RemoteConnected, RemoteListed, RemoteReturned, RemoteUnreachable

_LAST = 200
"""The last answers whose times are kept."""

MOST = 500
"""The names that are counted apart."""

WRITTEN = 50
"""Those of them that other processes are told."""

_ERROR_CHARS = 500

SERVICES_TABLE = "nodes:services"
"""What each process has seen, by its node, JSON."""

EVERY_S = 5.0
"""So long a process gathers what is new before it writes that down. Chosen: few writes, however much happens."""

_KEPT_S = 86_400.0


class _Noted(Protocol):
    """What a process has seen."""

    changed: anyio.Event
    """Set once something is new; another one is there from then on."""

    def data(self) -> Any:
        """It as JSON data, without words of people."""


NotedT = TypeVar("NotedT", bound=_Noted)


class SharedView(Generic[NotedT]):
    """What the process of `node` has seen, written down by `run` under a `name`, and what the others wrote down."""

    name: ClassVar[str]

    def __init__(self, seen: NotedT, records: Records, node: str, clock: Clock) -> None:
        self._here = seen
        self._records = records
        self._node = node
        self._clock = clock

    async def run(self) -> None:
        """Write down what there is now, and from then on what is new; until cancelled."""
        while True:
            changed = self._here.changed
            try:
                written = {"at": self._clock.now().timestamp(), self.name: self._here.data()}
                await self._records.put(self._node, json.dumps(written))
            except StorageError:
                changed.set()  # it is tried again
            await self._clock.sleep_until(self._clock.monotonic() + EVERY_S)
            await changed.wait()

    async def others(self, living: Collection[str]) -> Sequence[Any]:
        """What the other `living` nodes have seen. What one wrote down that lives no more is forgotten after a day.
        Raises StorageError.
        """
        kept = what_can_be_read(await self._records.all(), self._read)
        written = {node: one for node, one in kept.items() if node != self._node}
        now = self._clock.now().timestamp()
        for node in [node for node, (at, _) in written.items() if node not in living and now - at > _KEPT_S]:
            await self._records.remove(node)
        return [seen for node, (_, seen) in written.items() if node in living]

    def _read(self, text: str) -> tuple[float, Any]:
        """When a node wrote, and what it has seen."""
        written = json.loads(text)
        return float(written["at"]), written[self.name]


class Tally(Struct):
    """Answers and failures of one thing that is asked. Times are in seconds."""

    answers: int = 0
    failures: int = 0
    last_at: datetime | None = None
    error: str = ""
    error_at: datetime | None = None
    took_s: list[float] = field(default_factory=list)
    first_s: list[float] = field(default_factory=list)

    def answered(self, at: datetime, took_s: float, first_s: float | None = None) -> None:
        """It has answered, in whole after `took_s`, with a first piece after `first_s`."""
        self.answers += 1
        self.last_at = at
        self.took_s = [*self.took_s, took_s][-_LAST:]
        if first_s is not None:
            self.first_s = [*self.first_s, first_s][-_LAST:]

    def failed(self, at: datetime, error: str) -> None:
        self.failures += 1
        self.last_at = self.error_at = at
        self.error = error[:_ERROR_CHARS]

    def add(self, other: Tally) -> None:
        self.answers += other.answers
        self.failures += other.failures
        self.last_at = _later(self.last_at, other.last_at)
        if other.error_at is not None and _later(self.error_at, other.error_at) is other.error_at:
            self.error, self.error_at = other.error, other.error_at
        self.took_s = [*self.took_s, *other.took_s]
        self.first_s = [*self.first_s, *other.first_s]

    def for_others(self) -> Tally:
        """What other processes are told: no words of errors, and the times of the last answers."""
        took_s, first_s = ([round(one, 3) for one in times[-WRITTEN:]] for times in (self.took_s, self.first_s))
        return replace(self, error="", took_s=took_s, first_s=first_s)

    def data(self, *, content: bool) -> dict[str, Any]:
        """It as JSON data. What an error says is for those who may read what models and tools say."""
        return {
            "answers": self.answers,
            "failures": self.failures,
            "last_at": time_text(self.last_at),
            "median_s": _median(self.took_s),
            "p95_s": _p95(self.took_s),
            "slowest_s": round(max(self.took_s), 3) if self.took_s else None,
            "first_s": _median(self.first_s),
            "error_at": time_text(self.error_at),
            "error": (self.error or None) if content else None,
        }


Tallies: TypeAlias = dict[str, Tally]
"""By the names of what is asked."""


def tally_of(tallies: Tallies, name: str) -> Tally:
    """The tally of a name; those after the first `MOST` are one."""
    return tallies.setdefault(name if name in tallies or len(tallies) < MOST else "other", Tally())


def _add(tallies: Tallies, others: Mapping[str, Tally]) -> None:
    for name, tally in others.items():
        tally_of(tallies, name).add(tally)


def _for_others(tallies: Tallies) -> Tallies:
    return {name: tally.for_others() for name, tally in tallies.items()}


class SeenServer(Struct):
    """The server of an agent's tools. `trouble` says why there is no connection."""

    server: str = ""
    connected_at: datetime | None = None
    tools: int | None = None
    trouble: str | None = None
    calls: Tallies = field(default_factory=dict)

    def add(self, other: SeenServer) -> None:
        """Count what another process has seen as well. What is wrong at one counts where no other is connected."""
        self.server = self.server or other.server
        if _later(self.connected_at, other.connected_at) is other.connected_at:
            self.connected_at, self.tools = other.connected_at, other.tools
        self.trouble = None if self.connected_at is not None else self.trouble or other.trouble
        _add(self.calls, other.calls)

    def data(self, agent: str, *, content: bool) -> dict[str, Any]:
        return {
            "agent": agent,
            "server": self.server,
            "connected_at": time_text(self.connected_at),
            "tools": self.tools,
            "trouble": self.trouble,
            "calls": [{"tool": name, **tally.data(content=content)} for name, tally in sorted(self.calls.items())],
        }


class ServiceTallies:
    """Follows the bus of this process: the answers of models by the models' names; connections to the servers of tools,
    and calls of the tools, by agent."""

    def __init__(self, bus: Bus) -> None:
        self.models: Tallies = {}
        self.servers: dict[str, SeenServer] = {}
        self.changed = anyio.Event()
        """Set once something is new; another one is there from then on."""
        bus.hear(LLMAnswered, self._answered)
        bus.hear(LLMBrokeOff, self._broke_off)
        bus.hear(ModelFellBack, self._fell_back)
        bus.hear(RemoteConnected, self._connected)
        bus.hear(RemoteListed, self._listed)
        bus.hear(RemoteUnreachable, self._unreachable)
        bus.hear(RemoteReturned, self._returned)

    def _note(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def _answered(self, what: LLMAnswered, at: datetime) -> None:
        if not isinstance(what, LLMAnsweredInPart):
            tally_of(self.models, what.model).answered(at, what.seconds, what.first_text_s)
            self._note()

    def _broke_off(self, what: LLMBrokeOff, at: datetime) -> None:
        tally_of(self.models, what.model).failed(at, what.error)
        self._note()

    def _fell_back(self, what: ModelFellBack, at: datetime) -> None:
        if what.following is not None:  # else the answer broke off, which is told as well
            tally_of(self.models, what.model).failed(at, what.error)
            self._note()

    def _server(self, what: OfServer) -> SeenServer:
        """The server of an event, of which something is new."""
        self._note()
        seen = self.servers.setdefault(what.agent, SeenServer())
        seen.server = what.server
        return seen

    def _connected(self, what: RemoteConnected, at: datetime) -> None:
        seen = self._server(what)
        seen.connected_at, seen.tools, seen.trouble = at, what.tools, None

    def _listed(self, what: RemoteListed, _: datetime) -> None:
        self._server(what).tools = what.tools

    def _unreachable(self, what: RemoteUnreachable, _: datetime) -> None:
        seen = self._server(what)
        seen.connected_at, seen.trouble = None, what.error

    def _returned(self, what: RemoteReturned, at: datetime) -> None:
        tally = tally_of(self._server(what).calls, what.playbook)
        if what.error is None:
            tally.answered(at, what.seconds)
        else:
            tally.failed(at, what.error)

    def data(self) -> dict[str, Any]:
        servers = {name: replace(one, calls=_for_others(one.calls)) for name, one in self.servers.items()}
        told: dict[str, Any] = to_builtins({"models": _for_others(self.models), "servers": servers})
        return told


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _median(values: list[float]) -> float | None:
    return round(statistics.median(values), 3) if values else None


def _p95(values: list[float]) -> float | None:
    """What 19 of 20 values are not above."""
    return round(statistics.quantiles(values, n=20, method="inclusive")[-1], 3) if len(values) > 1 else _median(values)


def time_text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


class SharedServices(SharedView[ServiceTallies]):
    """What the process of `node` has seen of models and servers, and what the others have. Of a failure at another
    process its time is known; its words stay there, in the log.
    """

    name = "services"

    async def models(self, living: Collection[str]) -> Mapping[str, Tally]:
        """The tallies by the models' names, at this process and those of the `living` nodes. Raises StorageError."""
        found: Tallies = {}
        _add(found, self._here.models)
        for other in await self.others(living):
            _add(found, convert(other["models"], Tallies))
        return found

    async def servers(self, living: Collection[str]) -> Mapping[str, SeenServer]:
        """The servers by the agents whose tools they have, as with models."""
        found: dict[str, SeenServer] = {}
        others = [convert(other["servers"], dict[str, SeenServer]) for other in await self.others(living)]
        for servers in (self._here.servers, *others):
            for agent, seen in servers.items():
                found.setdefault(agent, SeenServer()).add(seen)
        return found
