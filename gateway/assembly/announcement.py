"""The announcement that the gateway prints when it has started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateway.assembly.foundation import GatewayFoundation
from gateway.capabilities import FEATURES
from gateway.catalog import is_web
from gateway.inbound.routing import Routes
from gateway.service import ServedPlatform
from gateway.settings.operation import NodeRole
from gateway.settings.platforms import WebSettings
from gateway.settings.tree import Settings, changed
from runtime.language.program import Program
from runtime.language.remote import participants, servers_of
from runtime.sandbox.wrapping import WorkerWrapper

_WIDTH = 10
_ASKED_ELSEWHERE = "asked by agent nodes"


def all_lines(
    foundation: GatewayFoundation, port: int, agents: int, platforms: Mapping[str, ServedPlatform]
) -> list[str]:
    """What a process says when it serves, at this port. `agents` is the number of nodes that serve conversations."""
    settings, engine = foundation.settings, foundation.engine
    people_come, url = settings.nodes.people_come, url_here(settings.web.host, port)
    return [
        *listed_under("web chat" if people_come else "health", [url]),
        *listed_under("console", [f"{url}/console"] if people_come and settings.has_console else []),
        *role_lines(settings.nodes.role, agents),
        *door_lines(settings.web if people_come else None, None if engine is None else engine.sandbox.wrapping),
        *start_lines(
            foundation.routes,
            foundation.programs.values(),
            _ASKED_ELSEWHERE if engine is None else engine.model_line,
            {one.name: one.lines(settings, foundation.routes, foundation.clock.now()) for one in FEATURES},
            platforms if people_come else {},
        ),
        *listed_under("state", _state(settings)),
        *([] if foundation.debugger is None else listed_under(foundation.debugger.head, [foundation.debugger.line])),
    ]


def _state(settings: Settings) -> list[str]:
    """Where the state is, unless it is a server of one's own."""
    if settings.redis_url is not None:
        return []
    shared = "" if "data_dir" in changed(settings) else ", shared by all that you start; --data-dir names another"
    return [f"{settings.data_dir}{shared}"]


def start_lines(
    routes: Routes,
    programs: Iterable[Program],
    model_line: str,
    of_features: Mapping[str, Sequence[str]],
    platforms: Mapping[str, ServedPlatform],
) -> list[str]:
    head, shown = ("routes", routes.lines()) if routes.single is None else ("program", [routes.single])
    lines = [*listed_under(head, shown), *_remote_lines(list(programs)), *listed_under("model", [model_line])]
    for name, said in of_features.items():
        lines += listed_under(name, said)
    for name, platform in platforms.items():
        if platform.access.code is not None:
            where = (
                "send this code to the bot to become its" if not is_web(name) else "say this code in a room to be an"
            )
            lines.append(f"{name:<{_WIDTH}} {where} owner: {platform.access.code}")
        elif not is_web(name):
            lines.append(
                f"{name:<{_WIDTH}} connecting (a warning follows if it cannot); open to {platform.access.open_to}"
            )
    return lines


def _remote_lines(programs: Sequence[Program]) -> list[str]:
    """A line for each remote agent and for each agent that runs in another process."""
    lines = [f"{agent.name}: {spec.shown}" for agent, spec in servers_of(programs)]
    played = {klass: name for program in programs for klass, name in participants(program).items()}
    lines += [f"{klass}: {name}, at /participants/{name}" for klass, name in played.items()]
    return [f"{'remote':<{_WIDTH}} {line}" for line in lines]


def role_lines(role: NodeRole, agents: int) -> list[str]:
    """Lines about a process that does not do everything. `agents` is the number of nodes that serve conversations."""
    if role == "all":
        return []
    if role == "agents":
        return listed_under("role", ["agents: it serves conversations, and fronts take in what people write"])
    here = f"{agents} serve them now" if agents else "none is there yet: what people write is kept"
    return listed_under("role", [f"front: agent nodes serve conversations; {here}"])


def door_lines(web: WebSettings | None, wrapping: WorkerWrapper | None) -> list[str]:
    """Lines about access to the web chat, and about a missing jail, as far as this process has either."""
    jail = [] if wrapping is None or wrapping.jailed else listed_under("no jail", [wrapping.reason])
    return [*([] if web is None else listed_under("open to", [web.open_to])), *jail]


def listed_under(head: str, lines: Sequence[str]) -> list[str]:
    return [f"{head if number == 0 else '':<{_WIDTH}} {line}" for number, line in enumerate(lines)]


def url_here(host: str, port: int) -> str:
    """The address under which a browser on this machine finds the gateway."""
    near = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"http://{f'[{near}]' if ':' in near else near}:{port}"
