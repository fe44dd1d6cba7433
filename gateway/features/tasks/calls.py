"""The host calls about tasks: ordering one, waiting for its result, looking at them, ending one, speaking to one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from runtime.core.address import session_of
from runtime.core.background import WakeSignal
from runtime.core.clock import until
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import ORDERER, SessionId, is_orderer
from runtime.core.json_text import write_json
from runtime.core.plain_text import whole_number
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import rebuilt, site
from runtime.execution.frames.signatures import Seconds, call
from runtime.execution.standing import handed_on
from runtime.language.program import PlaybookSpec
from runtime.stores.orders import TaskLimits
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import CallReturned, WaitBegun, WaitEnded
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import MessagesDropped
from runtime.tape.facts.tasks import ResultTaken, TaskCancelled, TaskOrdered, TaskOver, WordToOrderer, WordToTask
from runtime.tape.journal import Journal, as_data
from runtime.tape.state.frames import CallKey
from runtime.tape.state.tasks import BROKEN_OFF, CALLER, NOBODY, TASK_LIMIT, TaskState

if TYPE_CHECKING:
    from runtime.sessions.features import SessionParts

_TASK_CHARS = 32
"""As many as the ids of other sessions have."""


MAX_WORD_CHARS = 20_000
"""The length of one word to a task or its orderer."""

MAX_WORDS = 100
"""Words to one task, or to the orderer, that wait there, or on the way."""

MAX_HOPS = 40
"""The longest chain of words to and fro that no person and no pause interrupts: twenty questions and their answers."""


class TaskCalls:
    def __init__(self, parts: SessionParts, limits: TaskLimits | None) -> None:
        """Without `limits` nothing can be ordered: nobody would take the orders."""
        self._program = parts.program
        self._journal = parts.journal
        self._clock = parts.around.clock
        self._builtins = parts.builtins
        self._record = parts.record
        self._limits = limits
        self._places = parts.around.task_places
        self._over = WakeSignal()

    @hears(TaskOver)
    def noted(self, _fact: FactContent) -> None:
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
        state, record, places = self._journal.state, self._record, self._places
        if deliver not in (known := [CALLER, NOBODY, *places]):  # an address would reach any conversation
            raise PlaybookError(f"Spawn delivers to {', '.join(map(repr, known))}, not to {deliver!r}")
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
            *(handed_on(state, frame.state, record.address, record.program) if deliver not in places else ("", "")),
        )
        note_order(self._journal, ordered, limits)
        return state.tasks[state.ordered].name

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


class TellCalls:
    """`Tell`, for one session. It names tasks of this session and its orderer, and nobody else: no address."""

    def __init__(self, parts: SessionParts, tasks: TaskCalls) -> None:
        self._journal = parts.journal
        self._tasks = tasks
        self._is_task = session_of(parts.record.address) is not None  # and not only a copy of one

    @call("Tell", example='await Tell("task 1", "the deadline moved")')
    def tell(self, frame: Frame, call: FrameCall, task: Any, message: Any) -> None:
        """Says something to a running task that was ordered here, by its name, or in a task with "orderer" to who has
        ordered it.

        The other side hears it where it waits for "orderer", or for the task by its name; an agent that does not wait
        sees it when a model is asked next. "Researcher.Study" means the latest task of the calling agent that runs this
        playbook.
        """
        text = _text(message)
        agent = frame.state.agent
        if is_orderer(str(task)):
            self._check_orderer()
            hops = self._hops(0, ORDERER, "who has ordered this")
            self._journal.note(WordToOrderer(agent, text, hops))
        else:
            number = self._open(frame, task)
            hops = self._hops(number, name := f"task {number}", name)
            self._journal.note(WordToTask(agent, number, text, hops))
        self._journal.note(CallReturned(*site(frame, call)))
        self._journal.hurry()

    def _check_orderer(self) -> None:
        """Raises UnknownTarget where nobody has ordered this, PlaybookError where it is over."""
        order = self._journal.state.order
        if order is None or not self._is_task:
            raise UnknownTarget("nobody has ordered this: only a task has an orderer")
        if order.over:
            raise PlaybookError("this task has ended; its orderer gets the result, and hears no more")

    def _open(self, frame: Frame, named: object) -> int:
        """The number of a task that is at work. Raises UnknownTarget and PlaybookError."""
        found = self._tasks.find(self._tasks.meant(frame, named))
        if found.over:
            raise PlaybookError(f"{found.name} ({found.klass}.{found.playbook}) has ended, and hears no more")
        return found.number

    def _hops(self, number: int, name: str, whom: str) -> int:
        """How many words lead to this one, itself included. Raises PlaybookError where too much waits already, or the
        two answer each other without end."""
        hops = self._journal.state.hops.get(name, 0) + 1
        if sum(word.number == number for word in self._journal.state.words) >= MAX_WORDS:
            raise PlaybookError(f"{whom} was told nothing: {MAX_WORDS} words before this one wait to be heard")
        if hops > MAX_HOPS:
            raise PlaybookError(
                f"{whom} was told nothing: {MAX_HOPS} words have led here one after the other, without a person or a "
                "pause between them, so the two seem to answer each other without end"
            )
        return hops


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


def _text(message: Any) -> str:
    """What is told. Raises PlaybookError for nothing, for too much, and for what is no data."""
    try:
        text = message if isinstance(message, str) else write_json(as_data(message))
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"Tell takes a text, or data: {error}") from error
    if not text.strip():
        raise PlaybookError("Tell needs something to say")
    if len(text) > MAX_WORD_CHARS:
        raise PlaybookError(f"what is told has at most {MAX_WORD_CHARS:,} characters, this has {len(text):,}")
    return text
