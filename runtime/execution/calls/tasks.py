"""The host calls about tasks: ordering one, waiting for its result, looking at them, ending one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any

import anyio

from runtime.core.clock import until
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.core.signals import Signal
from runtime.execution.calls.builtins import Builtins
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import rebuilt, site
from runtime.execution.frames.signatures import Seconds, call
from runtime.execution.session_context import SessionContext
from runtime.execution.standing import handed_on
from runtime.language.program import PlaybookSpec
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.agents import MessagesDropped
from runtime.tape.facts.calls import WaitBegun, WaitEnded
from runtime.tape.facts.content import Content
from runtime.tape.facts.tasks import ResultTaken, TaskCancelled, TaskOrdered, TaskOver
from runtime.tape.journal import Journal
from runtime.tape.listeners import hears
from runtime.tape.state.frames import CallKey, FrameState
from runtime.tape.state.tasks import BROKEN_OFF, CALLER, NOBODY, TASK_LIMIT, TaskState

_TASK_CHARS = 32
"""As many as the ids of other sessions have."""


class TaskCalls:
    """The calls of one session; each notes its own result."""

    def __init__(
        self,
        session: SessionContext,
        builtins: Builtins,
        record: SessionRecord,
        limits: TaskLimits | None,
        places: Collection[str] = (),
    ) -> None:
        """Without `limits` nothing can be ordered: nobody would take the orders. `places` are those that results may be
        delivered to, by name."""
        self._program = session.program
        self._journal = session.journal
        self._clock = session.clock
        self._builtins = builtins
        self._record = record
        self._limits = limits
        self._places = places
        self._over = Signal()

    @hears(TaskOver)
    def noted(self, _fact: Content) -> None:
        """A task has ended."""
        self._over.send()

    @call("Spawn", example='name = await Spawn("Researcher", "Study", {"topic": topic})')
    def spawn(  # noqa: PLR0913 - arguments of a call
        self,
        frame: Frame,
        agent: str,
        playbook: str,
        arguments: Any = (),
        within_s: Seconds | None = None,
        deliver: str = CALLER,
        keep: bool = False,
    ) -> str:
        """Runs a public playbook in the background and returns "task 1" at once; a result that you do not wait for
        comes as a message.

        The task fails after `within_s` seconds. With `deliver="nobody"` no message comes; if you name a place from the
        settings, the result goes there instead of to you. With `keep=True` the task continues after the conversation
        has ended.
        """
        limits = self._limits
        if limits is None:
            raise PlaybookError("tasks need a gateway: here is one conversation alone")
        spec = self._spec(agent, playbook)
        if not spec.public and agent != frame.agent.klass:
            raise UnknownTarget(f"{playbook} of {agent} is not public, so other agents cannot order it")
        self._check_delivery(deliver)
        state = self._journal.state
        due = self._clock.now().timestamp() + (limits.within_s if within_s is None else within_s)
        if state.order is not None and not keep:
            due = min(due, state.order.due)
        ordered = TaskOrdered(
            frame.state.agent,
            task_id(self._journal.session, state.seq + 1),
            agent,
            playbook,
            _named(arguments, spec),
            due,
            deliver,
            1 if state.order is None else state.order.depth + 1,
            keep,
            *(self._recalls(frame.state) if deliver in (CALLER, NOBODY) else ("", "")),
        )
        note_order(self._journal, ordered, limits)
        return state.tasks[state.ordered].name

    def _recalls(self, frame: FrameState) -> tuple[str, str]:
        return handed_on(self._journal.state, frame, self._record.address, self._record.program)

    def _check_delivery(self, deliver: str) -> None:
        """Only the settings name conversations: an address would reach any. Raises PlaybookError."""
        known = [CALLER, NOBODY, *self._places]
        if deliver not in known:
            raise PlaybookError(f"Spawn delivers to {', '.join(map(repr, known))}, not to {deliver!r}")

    def _spec(self, klass: str, playbook: str) -> PlaybookSpec:
        """The playbook of a class. Raises UnknownTarget."""
        agent = self._program.agent(klass)
        if agent is None:
            raise UnknownTarget(f"there is no agent class {klass!r}")
        spec = agent.playbook(playbook)
        if spec is None:
            raise UnknownTarget(f"{klass} has no playbook {playbook!r}")
        return spec

    @call("Result", example="result = await Result(name)")
    async def result(self, frame: Frame, call: FrameCall, task: Any, timeout_s: Seconds | None = None) -> None:
        """Waits for the result of a task.

        It returns None when the time is over, and the task continues. A failed task raises its playbook's error; a task
        without a result for another reason raises an error that says why. "Researcher.Study" means the latest task of
        the calling agent that runs this playbook.
        """
        key = CallKey(frame.id, call.pos)
        begun = self._journal.state.waits.get(key)
        number = self.meant(frame, task) if begun is None else int((begun.source or {})["task"])
        if begun is None:
            self.find(number)
            due = None if timeout_s is None else self._clock.now().timestamp() + timeout_s
            self._journal.note(WaitBegun(*site(frame, call), {"task": number}, due))
        if not self.find(number).over:
            await self._wait(frame, key, number, timeout_s)
        found = self.find(number)
        if not found.over:
            self._journal.note(WaitEnded(*site(frame, call), messages=[]))
            return
        self._take(found)
        if found.status == "completed":
            self._journal.note(WaitEnded(*site(frame, call), messages=[], value=found.value))
        elif found.status == "failed" and found.error_type and found.error_type not in BROKEN_OFF:
            raise rebuilt((found.error_type, found.error or ""), raised_at=found.raised_at)
        else:
            raise PlaybookError(f"{found.name} ({found.klass}.{found.playbook}) {ended_in_words(found)}")

    def meant(self, frame: Frame, task: object) -> int:
        """The number of a task, by its name or by what it does. Raises UnknownTarget."""
        klass, _, playbook = str(task).partition(".")
        if not playbook:
            return self._number(task)
        does = [
            one.number
            for one in self._journal.state.tasks.values()
            if one.agent == frame.state.agent and (one.klass, one.playbook) == (klass, playbook)
        ]
        if not does:
            raise UnknownTarget(f"no task of {klass}.{playbook} was ordered here")
        return does[-1]

    async def _wait(self, frame: Frame, key: CallKey, number: int, timeout_s: float | None) -> None:
        wait = self._journal.state.waits[key]
        await self._journal.commit()
        with self._builtins.waiting(frame, wait):
            async with anyio.create_task_group() as tasks:
                if wait.due is not None:
                    tasks.start_soon(
                        self._end_at, tasks.cancel_scope, wait.due, inf if timeout_s is None else timeout_s
                    )
                while not self.find(number).over:
                    await self._over.wait()
                tasks.cancel_scope.cancel()

    async def _end_at(self, scope: anyio.CancelScope, due_s: float, at_most_s: float) -> None:
        await until(self._clock, due_s, at_most_s=at_most_s)
        scope.cancel()

    def _take(self, task: TaskState) -> None:
        """The result was fetched, so no message announces it."""
        self._journal.note(ResultTaken(task.number))
        agent = self._journal.state.agents.get(task.agent)
        queue = [] if agent is None else agent.queue
        told = [message for message in queue if message.id == task.message]
        if told:
            self._journal.note(MessagesDropped(task.agent, [message.id for message in told]))
            self._builtins.forget(task.agent, told)

    @call("Tasks", example="await Tasks()", reads=True)
    def tasks(self) -> list[dict[str, str]]:
        """Lists the tasks that this conversation has ordered, each with `task`, `does`, `status` and `since`."""
        return [
            {
                "task": task.name,
                "does": f"{task.klass}.{task.playbook}",
                "status": task.status,
                "since": datetime.fromtimestamp(task.since, UTC).isoformat(),
            }
            for task in self._journal.state.tasks.values()
        ]

    @call("Cancel", example="await Cancel(name)")
    def cancel(self, task: Any) -> bool:
        """Ends a task.

        It returns False if the task has already ended.
        """
        found = self.find(self._number(task))
        if not found.over:
            self._journal.note(TaskCancelled(found.number))
        return not found.over

    def _number(self, named: object) -> int:
        number = whole_number(str(named).strip().lower().removeprefix("task").strip())
        if number is None:
            raise UnknownTarget(f'there is no task {named!r}; Spawn gives names such as "task 7"')
        return number

    def find(self, number: int) -> TaskState:
        """The task of a number. Raises UnknownTarget."""
        task = self._journal.state.tasks.get(number)
        if task is not None:
            return task
        if 0 < number <= self._journal.state.ordered:
            raise UnknownTarget(f"task {number} ended long ago; its result is no longer kept here")
        raise UnknownTarget(f"there is no task {number}")


def note_order(journal: Journal, ordered: TaskOrdered, limits: TaskLimits) -> None:
    """Order a task. One that is over a limit has failed at once, and its error names the limit."""
    at_work, over = len(journal.state.tasks_at_work()), ""
    if ordered.depth > limits.depth:
        over = f"it would be a task {ordered.depth} deep; the limit is {limits.depth}"
    elif at_work >= limits.at_once:
        over = f"{at_work} tasks are already running, the limit of one orderer"
    journal.note(ordered)
    if over:
        journal.note(TaskOver(journal.state.ordered, "failed", error=over, error_type=TASK_LIMIT))


def task_id(session: SessionId, seq: int) -> SessionId:
    """The id of the task that fact `seq` of a session orders."""
    return SessionId(hashlib.sha256(f"{session}.{seq}".encode()).hexdigest()[:_TASK_CHARS])


def ended_in_words(task: TaskState) -> str:
    """The end of a task without a result, in words."""
    how = {"canceled": "was cancelled", "rejected": "was rejected"}.get(task.status, "failed")
    return f"{how}: {task.error}" if task.error else how


def _named(arguments: Any, spec: PlaybookSpec) -> Mapping[str, Any]:
    """The arguments by their names. Raises PlaybookError."""
    if isinstance(arguments, Mapping):
        return {str(name).removeprefix("$"): value for name, value in arguments.items()}
    if not isinstance(arguments, list | tuple):
        raise PlaybookError(f"the arguments of a task are given by name, as a mapping, not as {arguments!r}")
    names = [parameter.name for parameter in spec.params]
    if len(arguments) > len(names):
        raise PlaybookError(f"{spec.name} takes {len(names)} arguments; it was given {len(arguments)}")
    return dict(zip(names, arguments, strict=False))
