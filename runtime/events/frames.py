"""Events of frames: they begin, wait and end, go from step to step, and ask models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from runtime.events.happening import Happening, happening, keys_of


class FrameAbout(Struct, frozen=True):
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


class OfFrame(Happening, frozen=True):
    """Something of a frame as a whole."""

    about: FrameAbout

    @property
    def key(self) -> tuple[str, str]:
        """The session and the frame."""
        return self.about.session_id, self.about.frame

    def data(self) -> dict[str, Any]:
        own = {key: getattr(self, key) for key in keys_of(type(self)) if key != "about"}
        return {key: getattr(self.about, key) for key in keys_of(FrameAbout)} | own


@happening("frame.started", "debug")
class FrameOpened(OfFrame, frozen=True):
    """A call of a playbook started."""

    arguments: Mapping[str, object] | Sequence[object]


@happening("frame.restored", "debug")
class FrameRestored(OfFrame, frozen=True):
    """It is back in memory after a restart or a rest."""

    arguments: Mapping[str, object] | Sequence[object]


@happening("frame.returned", "debug")
class FrameCompleted(OfFrame, frozen=True):
    """It ended with a value."""

    value: object


@happening("frame.failed", "debug")
class FrameFailed(OfFrame, frozen=True):
    """It ended with an exception, which its caller may catch."""

    error_type: str
    error: str
    raised_at: str
    """The agent's class, the playbook, its step, and the innermost line of Python code."""


@happening("frame.stopped", "debug")
class FrameStopped(OfFrame, frozen=True):
    """It was stopped, or its session leaves memory."""


class InFrame(Happening, frozen=True):
    """Something that happens while a frame is executed."""

    session_id: str
    frame: str

    @property
    def key(self) -> tuple[str, str]:
        """The session and the frame."""
        return self.session_id, self.frame


@happening("frame.parked", "debug")
class FrameWaiting(InFrame, frozen=True):
    """It waits for "people", "agents", a "meeting" or a "time", at most `until` (ISO 8601)."""

    waits_for: str
    until: str | None


@happening("frame.resumed", "debug")
class FrameResumed(InFrame, frozen=True):
    """The wait is over: the expected has come, or the time is up."""


class AtWork(InFrame, frozen=True):
    """Something that a frame does."""

    agent_id: str
    playbook: str


@happening("step.executed", "debug")
class StepExecuted(AtWork, frozen=True):
    """The frame goes to a step."""

    step: str | None


@happening("step.rejected", "warning")
class StepRejected(AtWork, frozen=True):
    """A rule refused a model's statement or answer before it was used."""

    rule: str
    error: str


@happening("trigger.fired", "debug")
class TriggerFired(AtWork, frozen=True):
    """A trigger holds, and its playbook is called."""

    trigger: str


@happening("turn.completed")
class TurnCompleted(AtWork, frozen=True):
    """One reply of a model was read and run."""


@happening("human.requested")
class HumanRequested(AtWork, frozen=True):
    """Somebody asked for a human being instead of the agent."""


@happening("sandbox.failed", "error")
class SandboxFailed(AtWork, frozen=True):
    """There is no process to run the model's code; the playbook continues when somebody writes."""

    error: str


@happening("llm.requested")
class LLMRequested(AtWork, frozen=True):
    """A model is about to be asked."""

    model: str
    prompt: Sequence[Any]


class AskedPrompt(Struct, frozen=True):
    """What a model was sent: its messages without the bytes of pictures (`Prompted`), the step that asked, and the
    session's last facts when it was asked and when its last word came."""

    messages: Sequence[Any]
    step: str | None
    asked_seq: int
    heard_seq: int


@happening("llm.answered")
class LLMAnswered(AtWork, frozen=True):
    """A model has answered. `seconds` is the time until its last word, `purpose` "execute" or "summarize";
    `participant_id` is who pays, `task` the first of the tasks that led to it, if those have a limit. `cost_usd` is
    None where nobody knows the price."""

    model: str
    purpose: str
    reply: str
    seconds: float
    first_text_s: float | None
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float | None
    conversation: str
    participant_id: str | None
    task: str | None = None
    program: str = ""
    agent: str = ""
    estimated: bool = False
    """Whether the provider has not counted all of the tokens."""
    prompt: AskedPrompt | None = None
    error: str | None = None
    """Why it broke off, where it did."""


@happening("llm.answered_in_part", "debug")
class LLMAnsweredInPart(LLMAnswered, frozen=True):
    """An answer was left, or broke off, before its end; `reply` is what came of it."""


@happening("llm.cut", "warning")
class LLMCut(AtWork, frozen=True):
    """An answer has reached the greatest length that its provider allows: it may end in the middle."""

    model: str
    purpose: str
    tokens_out: int


@happening("llm.broke_off", "warning")
class LLMBrokeOff(AtWork, frozen=True):
    """An answer failed or broke off: the model is asked again, or done without. `agent` and `prompt` are those of an
    answer of which nothing came."""

    model: str
    purpose: str
    error: str
    seconds: float
    agent: str = ""
    prompt: AskedPrompt | None = None


@happening("llm.failed", "error")
class LLMFailed(AtWork, frozen=True):
    """A request failed after all tries."""

    error: str
