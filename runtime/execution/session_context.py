"""The context that the parts of one session share."""

from __future__ import annotations

from dataclasses import dataclass

from anyio.abc import TaskGroup

from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.execution.frames.step_watcher import StepWatcher
from runtime.language.program import Program
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The program of a session, its journal, the group of its tasks, and the debugger's watcher, if there is one."""

    program: Program
    journal: Journal
    tasks: TaskGroup
    clock: Clock
    bus: Bus
    watcher: StepWatcher | None
