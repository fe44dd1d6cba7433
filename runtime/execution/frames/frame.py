"""A playbook in execution: its state on the tape, and the code that makes its host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.background import WakeSignal
from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.tape.journal import Journal, digest_of
from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import CallKey, CallRecord, FrameState
from runtime.tape.state.session import AgentState, SessionState

SENT_BYTES = "base64"
"""The only key of an argument that represents bytes."""

MAX_SHOWN_CHARS = 80
"""The length of a call's arguments or result in an error."""


Bound = tuple[list[Any], dict[str, Any], dict[str, Any]]
"""The args and kwargs of a call as data, and the variables that they set."""


@dataclass(frozen=True, slots=True)
class FrameCall:
    """A host call of a frame. `pos` finds its result in the journal; `digest` tells whether it is the same call.

    `place` is the call's file and line, None where it is not known. `answers` is the call as the code made it, where
    this one says what is meant by it.
    """

    pos: str
    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None
    answers: FrameCall | None = None
    _digest: str = field(default="", init=False, compare=False, repr=False)

    @property
    def digest(self) -> str:
        if self.answers is not None:
            return self.answers.digest
        if not self._digest:
            object.__setattr__(self, "_digest", digest_of(self.name, self.args, self.kwargs))
        return self._digest


class KnownCall(Struct, frozen=True):
    """A call that the tape has; `became` says in words how far it has come."""

    name: str
    digest: str
    became: str


class FrameBody(Protocol):
    """Code of a frame that runs until it waits for host calls: a python playbook, or one statement of a reply."""

    async def quiet(self) -> None:
        """Return when the code can go no further without a result, or has ended."""

    def take_calls(self) -> Sequence[FrameCall]:
        """Calls made since the last asking, in the order of their evaluation."""

    def take_cancelled(self) -> Sequence[FrameCall]:
        """Calls that the code gave up since the last asking."""

    async def hand(self, pos: str, record: CallRecord, /) -> None:
        """Give the code the result of one call."""

    @property
    def ended(self) -> bool: ...


class HostCalls(Protocol):
    """Executes host calls; the result of each becomes a fact about its frame."""

    def start(self, frame: Frame, call: FrameCall, /) -> None: ...

    async def give_up(self, frame: Frame, call: FrameCall, /) -> None: ...


class ExecutablePlaybook(Protocol):
    """A playbook, ready to run. `version` changes with its code or steps."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def kind(self) -> str:
        """ "llm", "python" or "remote": what executes it."""

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        """Check arguments against the signature. Raises PlaybookError that names what does not fit."""

    async def adopt(self, frame: Frame, /) -> None:
        """See whether a frame that was begun with another version can go on with this one. Nothing happens by it.

        Raises ProgramChanged with the reason when it cannot.
        """

    async def run(self, frame: Frame, /) -> Any:
        """Execute the frame to its value. Raises PlaybookError when it fails."""


class FrameHost(HostCalls, Protocol):
    """The port from a frame to what executes it."""

    def find(self, agent: AgentId, name: str) -> tuple[AgentId, ExecutablePlaybook] | None:
        """For `Playbook` or `Agent.Playbook` called by `agent`: whose agent it runs on (made if need be), and it; None
        where there is none. Raises UnknownTarget for another agent's that is not public."""

    async def run_child(
        self, frame: Frame, call: FrameCall, agent: AgentId, playbook: ExecutablePlaybook, *, hidden: bool = False
    ) -> None:
        """Run `playbook` on `agent` as the answer to `call`; `hidden` from the code of the frame."""


class Frame:
    """The live side of a frame."""

    def __init__(self, journal: Journal, id_: str, host: FrameHost) -> None:
        self.id = id_
        self.host = host
        self.unheard = 0
        """How often it has spoken to a meeting whose end it had not read."""
        self.journal = journal
        self._is_changed = False
        self._changed = WakeSignal()
        self._moving = journal.running.frames
        self._moving.add(id_)
        journal.listen(id_, self._set_changed)

    @property
    def state(self) -> FrameState:
        return self.journal.state.frames[self.id]

    @property
    def agent(self) -> AgentState:
        return self.journal.state.agents[self.state.agent]

    @property
    def alive(self) -> bool:
        return self.id in self.journal.state.frames

    @property
    def place(self) -> str:
        """The step that it has reached, else its playbook, for errors."""
        return self.state.step or self.state.playbook

    def known(self, pos: str) -> KnownCall | None:
        """The call that the tape has at a position, finished or under way."""
        state, key = self.journal.state, CallKey(self.id, pos)
        record = self.state.records.get(pos)
        if record is not None:
            raised = f"which raised {record.error[0]}" if record.error is not None else ""
            return KnownCall(record.name, record.digest, raised or f"which gave {shortened(repr(record.value))}")
        child = state.frames.get(f"{self.id}:{pos}")
        under_way = [
            (None if child is None else child.caller, "which is being executed"),
            (state.waits.get(key), "which waits"),
            (state.intents.get(key), "which was begun"),
        ]
        return next((KnownCall(one.name, one.digest, became) for one, became in under_way if one is not None), None)

    def under_way(self) -> list[str]:
        """The positions of the frame's own calls that the tape has begun and not finished."""
        state = self.journal.state
        waits = [wait.pos for wait in state.waits.values() if wait.frame == self.id and wait.pos != TURN]
        intents = [key.pos for key in state.intents if key.frame == self.id]
        callers = [frame.caller for frame in state.frames.values() if frame.caller is not None]
        children = [caller.pos for caller in callers if caller.frame == self.id and not caller.hidden]
        return [*waits, *intents, *children]

    def close(self) -> None:
        self.journal.forget(self.id)
        self._moving.discard(self.id)

    def _set_changed(self) -> None:
        self._is_changed = True
        self._changed.send()
        self._moving.add(self.id)

    async def change(self) -> None:
        if self._is_changed:
            return
        self._moving.discard(self.id)
        self.journal.settle()
        try:
            while not self._is_changed:
                await self._changed.wait()
        finally:
            self._moving.add(self.id)

    def expect_change(self) -> None:
        """From now on `change` waits for a new fact."""
        self._is_changed = False


def shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


MAX_UNWAITED = 500
"""The number of things in a row that a playbook, with those that it calls, says to people and meetings, sends them as
files or asks them, without waiting for anybody."""


def check_waits(state: SessionState, frame: Frame, call: FrameCall) -> None:
    """Raises PlaybookError where a frame, or one that waits for it, has said so much that nobody can answer."""
    place = call.place or frame.state.step
    by = "" if place is None else f" ({place})"
    speaker = next((one for one in state.stack(frame.state) if one.spoken >= MAX_UNWAITED), None)
    if speaker is None:
        return
    raise PlaybookError(
        f"{speaker.playbook} has spoken {MAX_UNWAITED} times without waiting for anybody{by}. Let it wait for an "
        "answer or for a time, or say it in fewer messages"
    )
