"""The host calls about tasks: ordering one, waiting for its result, looking at them, ending one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any

import anyio

from runtime.core.clock import until
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.signals import Signal
from runtime.execution.calls.builtins import Builtins
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments, seconds_of
from runtime.execution.host import Builtin
from runtime.execution.session_context import SessionContext
from runtime.language.program import PlaybookSpec
from runtime.tape.facts.agents import MessagesDropped
from runtime.tape.facts.calls import CallReturned, WaitBegun, WaitEnded
from runtime.tape.facts.content import Content
from runtime.tape.facts.tasks import ResultTaken, TaskCancelled, TaskOrdered, TaskOver
from runtime.tape.rules.frames import call_key
from runtime.tape.task_state import CALLER, NOBODY, TaskState

_NUMBER_CHARS = 9

_TASK_CHARS = 32
"""As many as the ids of other sessions have."""


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """How deep tasks may order tasks, how many of one orderer are at work at once, and how long each may take."""

    depth: int = 3
    at_once: int = 8
    within_s: float = 600.0


class TaskCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, session: SessionContext, builtins: Builtins, limits: TaskLimits | None) -> None:
        """Without `limits` nothing can be ordered: nobody would take the orders."""
        self._program = session.program
        self._journal = session.journal
        self._clock = session.clock
        self._builtins = builtins
        self._limits = limits
        self._over = Signal()

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {"Spawn": self.spawn, "Result": self.result, "Tasks": self.tasks, "Cancel": self.cancel}

    def noted(self, fact: Content) -> None:
        """Hears every fact: a task may have ended."""
        if isinstance(fact, TaskOver):
            self._over.send()

    async def spawn(self, frame: Frame, call: Call) -> None:
        """Order a task; its name, such as `task 7`, at once. One that is over a limit has failed by then."""
        names = ("agent", "playbook", "arguments", "within_s", "deliver", "keep")
        klass, name, arguments, within, deliver, keep = call_arguments(call, *names, optional=4)
        limits = self._limits
        if limits is None:
            raise PlaybookError("tasks need a gateway: here is one conversation alone")
        self._check(frame.agent.klass, str(klass), str(name))
        state = self._journal.state
        wanted = CALLER if deliver is None else str(deliver)
        if wanted not in (CALLER, NOBODY):
            raise PlaybookError(f'Spawn delivers to "{CALLER}" or to "{NOBODY}", not to {deliver!r}')
        within_s = limits.within_s if within is None else seconds_of(call, within)
        due = self._clock.now().timestamp() + within_s
        if state.order is not None and not keep:
            due = min(due, state.order.due)
        ordered = TaskOrdered(
            frame.state.agent,
            task_id(self._journal.session, state.seq + 1),
            str(klass),
            str(name),
            _named(arguments, self._spec(str(klass), str(name))),
            due,
            wanted,
            1 if state.order is None else state.order.depth + 1,
            bool(keep),
        )
        over = self._over_a_limit(ordered, limits)
        self._journal.note(ordered)
        number = state.ordered
        if over:
            self._journal.note(TaskOver(number, "failed", error=over))
        self._journal.note(CallReturned(*site(frame, call), value=state.tasks[number].name))

    def _spec(self, klass: str, playbook: str) -> PlaybookSpec:
        agent = self._program.agent(klass)
        if agent is None:
            raise UnknownTarget(f"there is no agent class {klass!r}")
        spec = agent.playbook(playbook)
        if spec is None:
            raise UnknownTarget(f"{klass} has no playbook {playbook!r}")
        return spec

    def _check(self, own: str, klass: str, playbook: str) -> None:
        """Raises UnknownTarget for what cannot be ordered."""
        if not self._spec(klass, playbook).public and klass != own:
            raise UnknownTarget(f"{playbook} of {klass} is not public, so other agents cannot order it")

    def _over_a_limit(self, ordered: TaskOrdered, limits: TaskLimits) -> str:
        """The limit that an order is over, in words; "" for none."""
        at_work = sum(not task.over for task in self._journal.state.tasks.values())
        if ordered.depth > limits.depth:
            return f"it would be a task {ordered.depth} deep; the limit is {limits.depth}"
        if at_work >= limits.at_once:
            return f"{at_work} tasks are at work already, the limit of one orderer"
        return ""

    async def result(self, frame: Frame, call: Call) -> None:
        """Wait for what a task comes to; None when the time is over. What ended it otherwise is raised."""
        named, timeout = call_arguments(call, "task", "timeout_s", optional=1)
        number = self._number(named)
        key = call_key(frame.id, call.pos)
        timeout_s = None if timeout is None else seconds_of(call, timeout)
        if key not in self._journal.state.waits:
            self._find(number)
            due = None if timeout_s is None else self._clock.now().timestamp() + timeout_s
            self._journal.note(WaitBegun(*site(frame, call), {"task": number}, due))
        if not self._find(number).over:
            await self._wait(frame, key, number, timeout_s)
        task = self._find(number)
        if not task.over:
            self._journal.note(WaitEnded(*site(frame, call), messages=[]))
            return
        self._take(task)
        if task.status == "completed":
            self._journal.note(WaitEnded(*site(frame, call), messages=[], value=task.value))
        else:
            raise PlaybookError(f"{task.name} ({task.klass}.{task.playbook}) {ended_in_words(task)}")

    async def _wait(self, frame: Frame, key: str, number: int, timeout_s: float | None) -> None:
        wait = self._journal.state.waits[key]
        await self._journal.commit()
        with self._builtins.waiting(frame, wait):
            async with anyio.create_task_group() as tasks:
                if wait.due is not None:
                    tasks.start_soon(
                        self._end_at, tasks.cancel_scope, wait.due, inf if timeout_s is None else timeout_s
                    )
                while not self._find(number).over:
                    await self._over.wait()
                tasks.cancel_scope.cancel()

    async def _end_at(self, scope: anyio.CancelScope, due_s: float, at_most_s: float) -> None:
        await until(self._clock, due_s, at_most_s=at_most_s)
        scope.cancel()

    def _take(self, task: TaskState) -> None:
        """The result was had: nobody is told of it by a message."""
        self._journal.note(ResultTaken(task.number))
        queue = self._journal.state.agents[task.agent].queue
        told = [message for message in queue if message.id == message_id(task)]
        if told:
            self._journal.note(MessagesDropped(task.agent, [message.id for message in told]))
            self._builtins.forget(task.agent, told)

    async def tasks(self, frame: Frame, call: Call) -> None:
        """The tasks that this conversation has ordered, each as `task`, `does`, `status` and `since`."""
        call_arguments(call)
        found = [
            {
                "task": task.name,
                "does": f"{task.klass}.{task.playbook}",
                "status": task.status,
                "since": datetime.fromtimestamp(task.since, UTC).isoformat(),
            }
            for task in self._journal.state.tasks.values()
        ]
        self._journal.note(CallReturned(*site(frame, call), value=found))

    async def cancel(self, frame: Frame, call: Call) -> None:
        """End a task that is not needed; False when it is over already."""
        (named,) = call_arguments(call, "task")
        task = self._find(self._number(named))
        if not task.over:
            self._journal.note(TaskCancelled(task.number))
        self._journal.note(CallReturned(*site(frame, call), value=not task.over))

    def _number(self, named: object) -> int:
        number = str(named).strip().lower().removeprefix("task").strip()
        if not number.isdecimal() or len(number) > _NUMBER_CHARS:
            raise UnknownTarget(f'there is no task {named!r}; Spawn gives names such as "task 7"')
        return int(number)

    def _find(self, number: int) -> TaskState:
        task = self._journal.state.tasks.get(number)
        if task is not None:
            return task
        if 0 < number <= self._journal.state.ordered:
            raise UnknownTarget(f"task {number} ended long ago; its result is no longer kept here")
        raise UnknownTarget(f"there is no task {number}")


def task_id(session: str, seq: int) -> str:
    """The id of the task that fact `seq` of a session orders."""
    return hashlib.sha256(f"{session}.{seq}".encode()).hexdigest()[:_TASK_CHARS]


def message_id(task: TaskState) -> str:
    """The id of the message by which an agent learns of a result that nobody waited for."""
    return f"task.{task.id}"


def ended_in_words(task: TaskState) -> str:
    """How a task ended that has no result."""
    how = {"canceled": "was cancelled", "rejected": "was rejected"}.get(task.status, "failed")
    return f"{how}: {task.error}" if task.error else how


def _named(arguments: Any, spec: PlaybookSpec) -> Mapping[str, Any]:
    """The arguments by their names. Raises PlaybookError."""
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return {str(name).removeprefix("$"): value for name, value in arguments.items()}
    if not isinstance(arguments, list | tuple):
        raise PlaybookError(f"the arguments of a task are given by name, as a mapping, not as {arguments!r}")
    names = [parameter.name for parameter in spec.params]
    if len(arguments) > len(names):
        raise PlaybookError(f"{spec.name} takes {len(names)} arguments; it was given {len(arguments)}")
    return dict(zip(names, arguments, strict=False))
