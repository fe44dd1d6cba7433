"""Executes host calls: built-in ones here, playbooks in new frames. Every result becomes a fact."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from itertools import islice

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.background import ListenerList
from runtime.core.errors import JournalError, PlaybookError, StorageError, UnknownTarget
from runtime.core.ids import AgentId
from runtime.execution.frames.frame import ExecutablePlaybook, Frame, FrameCall
from runtime.execution.frames.outcomes import FrameEvents, RaisedFailure, described, failed_call, raised_at, site
from runtime.execution.frames.signatures import BuiltinCall, Later
from runtime.execution.prompt.situation import kept_result
from runtime.execution.prompt.step_words import shown_call
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.execution.triggers.triggers import CallTriggers, VariableRules
from runtime.tape.facts.frames import CallDropped, FrameReturned, FrameStarted
from runtime.tape.journal import as_data
from runtime.tape.state.frames import CallKey, CallSite, FrameState, told

MAX_DEPTH = 100
"""The number of playbooks that may wait for each other: one that calls itself without an end fails."""

MAX_AT_ONCE = 20
"""Playbooks that one frame may have under way by calls that a model wrote."""

MAX_BELOW = 100
"""Playbooks under way below what an agent began, beyond which no call that a model wrote begins another."""


Find = Callable[[AgentId, str], tuple[AgentId, ExecutablePlaybook] | None]
"""`FrameHost.find`: given the agent that calls, and the name that it calls."""


class SessionHost(Struct, eq=False):
    """`find` finds playbooks, `events` tells what becomes of frames."""

    _session: SessionContext
    _pages: SessionPages
    find: Find
    _calls: Mapping[str, BuiltinCall]
    _call_triggers: CallTriggers
    _variables: VariableRules
    _events: FrameEvents
    _scopes: dict[CallKey, anyio.CancelScope] = field(default_factory=dict)
    returned: ListenerList[Collection[AgentId]] = field(default_factory=ListenerList[Collection[AgentId]])
    """Told, when a frame is no more, of the agents on which it and what it called were executed."""

    def start(self, frame: Frame, call: FrameCall, /) -> None:
        """Begin to execute `call`; the frame hears of its result through the journal."""
        later: Later = partial(self._begin_later, frame, call)
        if self._session.watcher is None and not self._session.journal.crowded:
            try:
                later = self._begin(frame, call)
            except (StorageError, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever a call raises is its result, for the code that made it
                self._session.journal.note(failed_call(frame, call, error))
                self._session.journal.hurry()
                return
        if later is not None:
            key = CallKey(frame.id, call.pos)
            scope = self._scopes[key] = anyio.CancelScope()
            self._session.journal.running.calls.add(key)
            self._session.tasks.start_soon(self._execute, frame, call, later, scope)

    def _begin(self, frame: Frame, call: FrameCall) -> Later:
        builtin = self._calls.get(call.name)
        return partial(self._call_playbook, frame, call) if builtin is None else builtin(frame, call)

    async def _begin_later(self, frame: Frame, call: FrameCall) -> None:
        if self._session.watcher is not None:
            await self._session.watcher.about_to_call(frame, call)
        if self._session.journal.crowded:
            await self._session.journal.commit()
        later = self._begin(frame, call)
        if later is not None:
            await later()

    async def give_up(self, frame: Frame, call: FrameCall, /) -> None:
        """The code cancelled `call`: stop it and all that it started, and write that down."""
        if not frame.alive or call.pos in frame.state.records:
            return
        await self.reap(f"{frame.id}:{call.pos}")
        key = CallKey(frame.id, call.pos)
        self._session.journal.running.calls.discard(key)
        scope = self._scopes.pop(key, None)
        if scope is not None:
            scope.cancel()
        agents = self._executing(f"{frame.id}:{call.pos}")
        self._session.journal.note(CallDropped(*site(frame, call), error=("Cancelled", "")))
        self.returned.tell(agents)

    async def reap(self, frame: str) -> None:
        """Stop every call below `frame` and close the pages it left open."""
        for key in list(self._scopes):
            if key.frame == frame or key.frame.startswith(frame + ":"):
                self._session.journal.running.calls.discard(key)
                self._scopes.pop(key).cancel()
        await self._pages.close_own(frame)

    async def _execute(
        self, frame: Frame, call: FrameCall, later: Callable[[], Awaitable[None]], scope: anyio.CancelScope
    ) -> None:
        with scope:
            try:
                await later()
            except (StorageError, JournalError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever a call raises is its result, for the code that made it
                self._session.journal.note(failed_call(frame, call, error))
                await self._session.journal.commit()
        key = CallKey(frame.id, call.pos)
        if self._scopes.get(key) is scope:
            del self._scopes[key]
            self._session.journal.running.calls.discard(key)
            self._session.journal.settle()

    async def _call_playbook(self, frame: Frame, call: FrameCall) -> None:
        found = self.find(frame.state.agent, call.name)
        if found is None:
            raise UnknownTarget(f"there is no playbook {call.name!r} that this agent may call")
        await self.run_child(frame, call, *found)

    async def run_child(
        self, frame: Frame, call: FrameCall, agent: AgentId, playbook: ExecutablePlaybook, *, hidden: bool = False
    ) -> None:
        """Run `playbook` on `agent` as the answer to `call`; continues it where a crash left it."""
        id_ = f"{frame.id}:{call.pos}"
        if id_ not in self._session.journal.state.frames:
            if self._depth(frame) >= MAX_DEPTH:
                raise PlaybookError(f"{playbook.name} would be {MAX_DEPTH + 1} calls deep; {MAX_DEPTH} are the most")
            self._check_room(frame, playbook)
            args, kwargs, variables = playbook.bind(call.args, call.kwargs)
            self._session.journal.note(
                FrameStarted(
                    id_,
                    agent,
                    playbook.name,
                    args,
                    kwargs,
                    playbook.version,
                    variables=variables,
                    fired=self._variables.fired_by(agent, variables) if variables else [],
                    caller=CallSite(*site(frame, call), hidden),
                    meeting=self._meeting_of(frame, agent),
                )
            )
        worded = frame.state.step is not None or "." in call.name  # a call in Python has no words for people
        doing = shown_call(call.name, self._pages.texts) if worded else None
        if hidden:
            self._session.journal.running.hidden.setdefault(frame.id, set()).add(id_)
        try:
            with self._pages.presence.working(frame.state.agent, doing):
                await self.run_frame(id_, playbook)
        finally:
            if hidden:
                self._session.journal.running.hidden[frame.id].discard(id_)

    def _depth(self, frame: Frame) -> int:
        """The number of playbooks that wait for each other down to this frame, itself included."""
        return sum(1 for _ in islice(self._session.journal.state.stack(frame.state), MAX_DEPTH))

    def _check_room(self, caller: Frame, playbook: ExecutablePlaybook) -> None:
        """Raise PlaybookError when a model's statements have the largest number of playbooks in progress."""
        state = self._session.journal.state
        if not caller.state.statements:
            return
        here = sum(1 for one in state.frames.values() if one.caller is not None and one.caller.frame == caller.id)
        if here >= MAX_AT_ONCE:
            raise PlaybookError(f"{here} playbooks are in progress here already, the limit of calls at once")
        root = caller.id.partition(":")[0]
        below = sum(1 for id_ in state.frames if id_.startswith(f"{root}:"))
        if below >= MAX_BELOW:
            raise PlaybookError(
                f"{playbook.name} is not called: {below} playbooks are in progress already, the limit of one task"
            )

    def _meeting_of(self, caller: Frame, agent: AgentId) -> str | None:
        """The meeting in which a called playbook runs: its caller's, unless it is another agent's that is not in it."""
        number = caller.state.meeting
        meeting = self._session.journal.state.meetings.get(number or "")
        outside = meeting is not None and agent != caller.state.agent and agent not in meeting.joined
        return None if outside else number

    async def run_frame(self, id_: str, playbook: ExecutablePlaybook) -> RaisedFailure | None:
        """Run a frame to its end and write down what came of it; returns the failure that ended it, if one did.

        Nothing happens to one that was stopped before it could run.
        """
        if id_ not in self._session.journal.state.frames:
            return None
        frame = Frame(self._session.journal, id_, self)
        about = self._events.taken_up(frame, playbook.kind)
        failure: RaisedFailure | None = None
        outcome: FrameReturned | None = None
        try:
            if self._session.watcher is not None:
                await self._session.watcher.entered(frame)
            await self._call_triggers.run("before", frame)
            outcome = FrameReturned(id_, as_data(await playbook.run(frame)))
            if frame.alive:  # a playbook that has ended the program is no more
                await self._call_triggers.run("after", frame)
                if self._session.watcher is not None:
                    await self._session.watcher.returned(frame, outcome.value)
        except (StorageError, JournalError):
            raise
        except Exception as error:  # noqa: BLE001 - a failing playbook is its caller's business
            failure = RaisedFailure(error, raised_at(frame, about, error))
            outcome = FrameReturned(id_, error=described(error), raised_at=failure.raised_at)
            if self._session.watcher is not None:
                await self._session.watcher.failed(frame, error)
        finally:
            frame.close()
            self._events.let_go(about, outcome)
        await self.reap(id_)
        agents = self._executing(id_)
        if agents and outcome is not None:
            self._session.journal.note(self._kept(outcome))
        self.returned.tell(agents)
        return failure

    def _executing(self, frame: str) -> set[AgentId]:
        state = self._session.journal.state
        return {state.frames[id_].agent for id_ in state.below(frame)}

    def _kept(self, outcome: FrameReturned) -> FrameReturned:
        """The additions of a return's fact for the frame that continues."""
        state = self._session.journal.state
        frame = state.frames[outcome.frame]
        caller = state.frames.get(frame.caller.frame) if frame.caller is not None else None
        outcome = self._accounted(outcome, frame, caller)
        if outcome.error is not None or frame.caller is None or frame.caller.hidden:
            return outcome
        kept, artifacts = kept_result(caller, outcome.value)
        return replace(outcome, kept=kept, artifacts=artifacts)

    def _accounted(self, outcome: FrameReturned, frame: FrameState, caller: FrameState | None) -> FrameReturned:
        """An account of a frame: what its playbook wrote of it, else for a model the last of what was said in it.

        The words stay with the agent. A playbook that shows a person what was said to them tells nothing new.
        """
        if frame.summary:
            return replace(outcome, summary=frame.summary)
        if caller is None or frame.caller is None or frame.caller.delivers or caller.agent != frame.agent:
            return outcome
        did = told(frame.talk) if caller.version.startswith("llm") else ""
        return replace(outcome, did=did) if did else outcome
