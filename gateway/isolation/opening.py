"""The isolation of the settings, made and tried once: what is configured and cannot be had is an error at start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.catalog import platform_names
from gateway.isolation.handover import Manner
from gateway.isolation.launch.launcher import Launcher
from gateway.isolation.launch.podman import PodmanLauncher
from gateway.isolation.launch.process import ProcessLauncher
from gateway.isolation.launch.systemd import SystemdLauncher
from gateway.isolation.node.conversation import TaskConversation
from gateway.isolation.node.isolation import Isolated
from gateway.settings.programs.isolation import MIB, Isolation, IsolationSettings
from gateway.settings.tree import Settings, process_environment
from runtime.core.address import address_data
from runtime.core.texts import Texts
from runtime.llm.models import Models
from runtime.sessions.node_context import OpenConversation

IDLE_S = 30.0
"""A task that waits for people, or for another task, keeps its process so long."""

_SEEN = frozenset({"LANG", "LC_ALL", "PATH", "TZ"})
"""The variables of ours that a task's process sees."""

_OF_SERVICES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""What `systemd-run --user` and `podman` need besides, of which a task sees nothing."""


@asynccontextmanager
async def open_isolation(
    settings: Settings, programs: Collection[str], llm: Models | None, texts: Texts
) -> AsyncIterator[Isolated | None]:
    """The isolation of tasks; None where all are executed inline, and on a front, which has no models and executes
    none. Raises ConfigError for what cannot be had here.
    """
    own = settings.tasks.isolation
    own.check(programs)
    if not own.kinds or llm is None:
        yield None
        return
    with TemporaryDirectory(prefix="parley-tasks-") as folder:
        launchers = {kind: _launcher(kind, own, Path(folder)) for kind in sorted(own.kinds)}
        for launcher in launchers.values():
            await launcher.check()
        yield Isolated(own, launchers, _manner(settings, llm, texts))


def _launcher(kind: Isolation, own: IsolationSettings, folder: Path) -> Launcher:
    if kind == "process":
        environment = {name: value for name, value in process_environment().items() if name in _SEEN}
        return ProcessLauncher(own, environment, folder)
    of_services = process_environment(more=_OF_SERVICES)
    if kind == "systemd":
        return SystemdLauncher(own, of_services, folder)
    return PodmanLauncher(own, of_services, folder)


def conversations_of(isolated: Isolated | None) -> OpenConversation | None:
    """Makes the conversations of tasks, where some are executed elsewhere."""
    return None if isolated is None else partial(TaskConversation, isolated=isolated)


def _manner(settings: Settings, llm: Models, texts: Texts) -> Manner:
    own, limits = settings.sandbox, settings.tasks.limits
    places = settings.tasks.addresses(platform_names(settings))
    return Manner(
        texts=texts.templates,
        language=texts.language,
        idle_s=min(settings.nodes.idle_s, IDLE_S),
        transcript_chars=settings.limits.transcript_chars,
        questions_alone=settings.asks_alone,
        models={name: client.model for name, client in llm.clients.items()},
        model_answer_s=settings.limits.model_answer_s,
        limits=(limits.depth, limits.at_once, limits.within_s, limits.tokens, limits.dollars),
        places={name: address_data(address) for name, address in places.items()},
        seen=bool(settings.clients),
        statement_s=own.seconds,
        statement_bytes=own.memory_mib * MIB,
        jail_required=own.jail == "required",
        log_level=settings.logs.level,
        tools=settings.tools.as_rules,
    )
