"""What happens in frames: they begin, wait and end, go from step to step, and ask models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from runtime.core.events import Happening, keys_of


@dataclass(frozen=True, slots=True)
class FrameAbout:
    """A frame in memory: whose it is, and which playbook of which `kind` it executes for whom."""

    session_id: str
    conversation: str
    program: str
    frame: str
    caller: str | None
    agent_id: str
    agent: str
    playbook: str
    kind: str
    participant_id: str | None
    meeting_id: str | None


@dataclass(frozen=True, slots=True)
class OfFrame(Happening):
    """Something of a frame as a whole."""

    about: FrameAbout

    @property
    def key(self) -> tuple[str, str]:
        """The session and the frame."""
        return self.about.session_id, self.about.frame

    def data(self) -> dict[str, Any]:
        own = {key: getattr(self, key) for key in keys_of(type(self)) if key != "about"}
        return {key: getattr(self.about, key) for key in keys_of(FrameAbout)} | own


@dataclass(frozen=True, slots=True)
class FrameStarted(OfFrame):
    """A call of a playbook started."""

    name: ClassVar[str] = "frame.started"
    arguments: Mapping[str, object] | Sequence[object]


@dataclass(frozen=True, slots=True)
class FrameRestored(OfFrame):
    """It is back in memory after a restart or a rest."""

    name: ClassVar[str] = "frame.restored"
    arguments: Mapping[str, object] | Sequence[object]


@dataclass(frozen=True, slots=True)
class FrameReturned(OfFrame):
    """It ended with a value."""

    name: ClassVar[str] = "frame.returned"
    value: object


@dataclass(frozen=True, slots=True)
class FrameFailed(OfFrame):
    """It ended with an exception, which its caller may catch."""

    name: ClassVar[str] = "frame.failed"
    error_type: str
    error: str
    raised_at: str
    """The agent's class, the playbook, its step, and the innermost line of Python code."""


@dataclass(frozen=True, slots=True)
class FrameStopped(OfFrame):
    """It was stopped, or its session leaves memory."""

    name: ClassVar[str] = "frame.stopped"


@dataclass(frozen=True, slots=True)
class InFrame(Happening):
    """Something that happens while a frame is executed."""

    session_id: str
    frame: str

    @property
    def key(self) -> tuple[str, str]:
        """The session and the frame."""
        return self.session_id, self.frame


@dataclass(frozen=True, slots=True)
class FrameParked(InFrame):
    """It waits for "people", "agents", a "meeting" or a "time", at most `until` (ISO 8601)."""

    name: ClassVar[str] = "frame.parked"
    waits_for: str
    until: str | None


@dataclass(frozen=True, slots=True)
class FrameResumed(InFrame):
    """What it waited for has come, or the time is over."""

    name: ClassVar[str] = "frame.resumed"


@dataclass(frozen=True, slots=True)
class AtWork(InFrame):
    """Something that a frame does."""

    agent_id: str
    playbook: str


@dataclass(frozen=True, slots=True)
class StepExecuted(AtWork):
    """The frame goes to a step."""

    name: ClassVar[str] = "step.executed"
    step: str | None


@dataclass(frozen=True, slots=True)
class StepRejected(AtWork):
    """What a model wrote was refused before it ran, by a rule."""

    name: ClassVar[str] = "step.rejected"
    rule: str
    error: str


@dataclass(frozen=True, slots=True)
class TriggerFired(AtWork):
    """A trigger holds, and its playbook is called."""

    name: ClassVar[str] = "trigger.fired"
    trigger: str


@dataclass(frozen=True, slots=True)
class TurnCompleted(AtWork):
    """One reply of a model was read and run."""

    name: ClassVar[str] = "turn.completed"


@dataclass(frozen=True, slots=True)
class HumanRequested(AtWork):
    """Somebody asked for a human being instead of the agent."""

    name: ClassVar[str] = "human.requested"


@dataclass(frozen=True, slots=True)
class SandboxFailed(AtWork):
    """There is no process to run the model's code; the playbook continues when somebody writes."""

    name: ClassVar[str] = "sandbox.failed"
    error: str


@dataclass(frozen=True, slots=True)
class LLMRequested(AtWork):
    """A model is about to be asked."""

    name: ClassVar[str] = "llm.requested"
    model: str
    prompt: Sequence[Any]


@dataclass(frozen=True, slots=True)
class LLMAnswered(AtWork):
    """A model has answered. `seconds` is the time until its last word, `purpose` "execute" or "summarize";
    `participant_id` is who pays."""

    name: ClassVar[str] = "llm.answered"
    model: str
    purpose: str
    reply: str
    seconds: float
    first_text_s: float | None
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    conversation: str
    participant_id: str | None


@dataclass(frozen=True, slots=True)
class LLMBrokeOff(AtWork):
    """An answer failed or broke off: the model is asked again, or done without."""

    name: ClassVar[str] = "llm.broke_off"
    model: str
    purpose: str
    error: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LLMFailed(AtWork):
    """A request failed after all tries."""

    name: ClassVar[str] = "llm.failed"
    error: str
