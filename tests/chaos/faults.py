"""The faults: what each does to the stage, and how it is taken away again."""

import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio

from tests.chaos.disk import LEFT_OUT
from tests.chaos.plan import Strike
from tests.chaos.stage import Node, Stage
from tests.chaos.valkey import ask
from tests.chaos.wire import Mode, Wire
from tests.e2e.processes import Seen, family

_FILL_BYTES = 1024 * 1024
_HIT_LIMIT_S = 20.0

Fault = Callable[[Stage, Strike], Awaitable[int]]
"""Strikes, waits until it is over, and takes itself away; how many processes or connections it has hit."""


async def strike(stage: Stage, one: Strike) -> int:
    """Do it and undo it."""
    return await _FAULTS[one.kind](stage, one)


async def _kill_gateway(stage: Stage, one: Strike) -> int:
    node = _node(stage, one)
    hit = node.end()
    await node.gateway.gone()
    await anyio.sleep(one.lasts_s)
    await node.up()
    return int(hit)


async def _stop_gateway(stage: Stage, one: Strike) -> int:
    node = _node(stage, one)
    hit = node.end(signal.SIGTERM)
    await node.gateway.gone()
    await node.up()
    return int(hit)


async def _kill_all(stage: Stage, one: Strike) -> int:
    """The gateway, the guard of its server, the server and the workers, all of them at once."""
    node = _node(stage, one)
    if not node.gateway.running:
        return 0
    everybody = family(node.gateway.process_id)
    node.end()
    hit = _kill(everybody)
    await node.gateway.gone()
    await node.up()
    return hit


async def _kill_workers(stage: Stage, one: Strike) -> int:
    """As the kernel does when memory runs out: at any moment, whether they work or wait."""
    node = _node(stage, one)
    if not node.gateway.running:
        return 0
    return _kill([seen for seen in family(node.gateway.process_id) if "/monty" in seen.command])


async def _kill_server(stage: Stage, one: Strike) -> int:
    """One that comes with the gateway is started again by it, another by us."""
    if stage.server is not None:
        stage.server.kill()
        await anyio.sleep(one.lasts_s)
        await stage.server.start()
        return 1
    return _kill(_servers(_node(stage, one)))


async def _kill_rewriting_server(stage: Stage, one: Strike) -> int:
    """While it writes its append-only file anew, which is when a crash finds two of them."""
    await ask(stage.socket(), b"BGREWRITEAOF")
    return await _kill_server(stage, one)


async def _cut(wires: list[Wire], lasts_s: float) -> int:
    """It hits those connections that stand, and those that somebody tries to make meanwhile. The first of them is
    waited for: it comes late on a busy machine."""
    before = sum(wire.refused for wire in wires)
    for wire in wires:
        wire.turn("refuse")
    cut = sum(wire.cut() for wire in wires)
    await anyio.sleep(lasts_s)
    if not cut:
        with anyio.move_on_after(_HIT_LIMIT_S):
            async with anyio.create_task_group() as tasks:
                for wire in wires:
                    tasks.start_soon(_until_refused, wire, tasks.cancel_scope)
    for wire in wires:
        wire.turn("open")
    return cut + sum(wire.refused for wire in wires) - before


async def _until_refused(wire: Wire, others: anyio.CancelScope) -> None:
    await wire.until_refused()
    others.cancel()


async def _turned(wires: list[Wire], mode: Mode, lasts_s: float) -> int:
    """What hung, or lost its answers, is reset in the end, as a router's memory ends."""
    for wire in wires:
        wire.turn(mode)
    await anyio.sleep(lasts_s)
    hit = len(wires) if mode == "slow" else sum(wire.cut() for wire in wires)
    for wire in wires:
        wire.turn("open")
    return hit


async def _jump(stage: Stage, one: Strike) -> int:
    stage.clock.jump(one.size_s)
    return 1


async def _fill_disk(stage: Stage, one: Strike) -> int:
    if stage.disk is None:
        stage.counts[LEFT_OUT] += 1
        return 0
    filler = stage.disk / "filler"
    try:
        _fill(filler)
        await anyio.sleep(one.lasts_s)
    finally:
        filler.unlink(missing_ok=True)
    return 1


def _fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(_FILL_BYTES))
    with suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(b"\0")


async def _freeze(stage: Stage, one: Strike) -> int:
    """For longer than leases last: it wakes up and believes that its shards are still its own."""
    node = _node(stage, one)
    if not node.gateway.running:
        return 0
    process = node.gateway.process_id
    os.kill(process, signal.SIGSTOP)
    await anyio.sleep(one.lasts_s)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)
    return 1


def _node(stage: Stage, one: Strike) -> Node:
    return stage.nodes[one.node % len(stage.nodes)]


def _server_wires(stage: Stage, one: Strike) -> list[Wire]:
    wire = _node(stage, one).wire
    return [] if wire is None else [wire]


def _servers(node: Node) -> list[Seen]:
    if not node.gateway.running:
        return []
    return [s for s in family(node.gateway.process_id) if s.command.split()[0].endswith("valkey-server")]


def _kill(processes: list[Seen]) -> int:
    hit = 0
    for seen in processes:
        with suppress(ProcessLookupError):
            os.kill(seen.id, signal.SIGKILL)
            hit += 1
    return hit


_FAULTS: dict[str, Fault] = {
    "kill gateway": _kill_gateway,
    "stop gateway": _stop_gateway,
    "kill gateway and server": _kill_all,
    "kill workers": _kill_workers,
    "kill server": _kill_server,
    "kill server in rewrite": _kill_rewriting_server,
    "cut platforms": lambda stage, one: _cut(stage.platform_wires, one.lasts_s),
    "hang platforms": lambda stage, one: _turned(stage.platform_wires, "hang", one.lasts_s),
    "slow platforms": lambda stage, one: _turned(stage.platform_wires, "slow", one.lasts_s),
    "lose platform answers": lambda stage, one: _turned(stage.platform_wires, "swallow", one.lasts_s),
    "cut model": lambda stage, one: _cut([stage.model_wire], one.lasts_s),
    "cut server wire": lambda stage, one: _cut(_server_wires(stage, one), one.lasts_s),
    "hang server wire": lambda stage, one: _turned(_server_wires(stage, one), "hang", one.lasts_s),
    "slow server wire": lambda stage, one: _turned(_server_wires(stage, one), "slow", one.lasts_s),
    "lose server answers": lambda stage, one: _turned(_server_wires(stage, one), "swallow", one.lasts_s),
    "clock forward": _jump,
    "clock back": _jump,
    "full disk": _fill_disk,
    "freeze gateway": _freeze,
}
