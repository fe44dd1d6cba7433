"""A listing of what was executed in a session, step by step, from the facts on its tapes.

Each stretch of a playbook, from where control comes to it to where it yields control, is one listing: what brought
control to it, the steps with what they did, and what it yielded to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from runtime.core.errors import Divergence
from runtime.core.ids import as_named
from runtime.core.message import Message
from runtime.core.plain_text import shortened
from runtime.tape.facts import frames
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import PageFinished, PageHeld
from runtime.tape.facts.registry import content_of
from runtime.tape.facts.session import AgentStopped, SessionEnded
from runtime.tape.fold import apply
from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

MAX_VALUE_CHARS = 500
"""A value is shown up to here."""

_ENDS, _RETURNS = "ends", "goes back to its caller"
_SHOWN_OTHERWISE = frozenset({"Answer", "Hear", "Var", "Step", "Yld", "Return", "Say"})


@dataclass
class StepStretch:
    """A playbook has control until it yields it. `agent` is an id, `lines` are as they are printed."""

    at: datetime
    agent: str
    agent_class: str
    frame: str
    playbook: str
    recap: str
    lines: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        about = {"agent": self.agent, "class": self.agent_class, "frame": self.frame, "playbook": self.playbook}
        return {"at": self.at.isoformat(), **about, "recap": self.recap, "lines": self.lines}

    @property
    def text(self) -> str:
        return "\n".join((self.recap, *self.lines))


def stretches(facts: Iterable[Fact]) -> list[StepStretch]:
    """The executed stretches, in the order in which they began; up to a fact that cannot be read."""
    listing = _Listing()
    for fact in facts:
        try:
            listing.note(fact)
        except (Divergence, LookupError):
            break
    return listing.found


@dataclass
class _Open:
    stretch: StepStretch
    joint: str = ""
    """What stands between the last line and what is added to it; empty where nothing can be."""


class _Made(Struct, frozen=True):
    """A call that was printed: where, and what it gave once it is there."""

    stretch: StepStretch
    line: int
    text: str
    pos: int


class _Listing:
    def __init__(self) -> None:
        self.found: list[StepStretch] = []
        self._state = SessionState()
        self._open: dict[str, _Open] = {}
        self._calls: dict[str, _Made] = {}
        self._outcomes: dict[str, tuple[str, bool]] = {}
        """Outcomes that the model chose, by frame, and whether each says what a person does."""
        self._fired: set[tuple[str, str]] = set()
        """Updates that were printed with the triggers that they fired."""
        self._recaps: dict[str, str] = {}
        self._at_time = datetime.fromtimestamp(0, UTC)

    def note(self, fact: Fact) -> None:
        """The next fact. Raises Divergence and LookupError for one that cannot follow."""
        content = content_of(fact.kind, fact.data)
        self._at_time = fact.at
        self._before(content)
        apply(self._state, fact.seq, content, fact.at.timestamp())
        self._after(content)

    def _before(self, fact: FactContent) -> None:
        match fact:
            case frames.FrameStarted():
                self._recaps[fact.frame] = _heard(self._messages(fact.agent, fact.messages))
            case frames.FrameReturned():
                self._before_return(fact)
            case frames.StepReached() | frames.StepReturned():
                if (opened := self._at(fact)) is not None:
                    self._flush(opened)
            case frames.CallReturned():
                self._before_result(fact)
            case PageFinished(name="Say") | PageHeld(name="Say"):
                if (opened := self._at(fact)) is not None:
                    self._said(opened, fact.to, fact.text)
            case frames.WaitEnded():
                self._before_took(fact)

    def _after(self, fact: FactContent) -> None:
        match fact:
            case frames.FrameStarted():
                self._after_start(fact)
            case frames.StepReached() | frames.StepReturned():
                self._after_step(fact)
            case frames.VariableSet():
                self._after_set(fact)
            case frames.WaitBegun():
                self._after_wait(fact)
            case AgentStopped() | SessionEnded():
                stops = fact.agent if isinstance(fact, AgentStopped) else None
                for frame in [id_ for id_, one in self._open.items() if stops in (None, one.stretch.agent)]:
                    self._close(frame, _ENDS)

    # -- stretches

    def _owner(self, frame: FrameState) -> FrameState:
        """The frame in whose stretch something is printed: what Python calls belongs to who called it."""
        while frame.caller is not None and not frame.version.startswith("llm"):
            frame = self._state.frames[frame.caller.frame]
        return frame

    def _at(self, fact: FactContent) -> _Open | None:
        """The stretch that a fact belongs to; one begins where none is open."""
        frame = self._state.frames.get(fact.frame_id() or "")
        return self._opened(self._owner(frame)) if frame is not None else None

    def _opened(self, owner: FrameState) -> _Open:
        if owner.id not in self._open:
            recap = self._recaps.pop(owner.id, f"{owner.playbook} goes on.")
            self._begin(owner, recap)
        return self._open[owner.id]

    def _begin(self, frame: FrameState, recap: str) -> None:
        agent = self._state.agents[frame.agent]
        stretch = StepStretch(self._at_time, agent.id, agent.klass, frame.id, frame.playbook, recap)
        self.found.append(stretch)
        self._open[frame.id] = _Open(stretch)

    def _close(self, frame: str, yields: str) -> None:
        opened = self._open.get(frame)
        if opened is not None:
            self._flush(opened)
            opened.stretch.lines.append(yields)
            del self._open[frame]

    @staticmethod
    def _line(opened: _Open, text: str) -> None:
        opened.stretch.lines.append(text)
        opened.joint = ""

    @staticmethod
    def _act(opened: _Open, text: str) -> int:
        """Print what a step does beside it, or on a line of its own; returns the line's index."""
        lines = opened.stretch.lines
        if opened.joint:
            lines[-1] += f"{opened.joint}{text}"
            opened.joint = "; "
        else:
            lines.append(text)
        return len(lines) - 1

    def _trigger(self, opened: _Open, name: str) -> None:
        self._line(opened, f"the trigger {name} holds")

    # -- frames

    def _after_start(self, fact: frames.FrameStarted) -> None:
        frame = self._state.frames[fact.frame]
        heard = self._recaps.pop(frame.id, "")
        caller = frame.caller
        if caller is None:
            self._begin(frame, heard or f"{frame.playbook} begins.")
            return
        owner = self._owner(self._state.frames[caller.frame])
        opened = self._opened(owner)
        for name in frame.fired:
            self._trigger(opened, name)
        call = f"{caller.name}({_arguments(frame.args, frame.kwargs)})"
        judged = self._outcomes.get(owner.id, ("", False))[0] == caller.name
        if judged:
            del self._outcomes[owner.id]
            self._trigger(opened, caller.name)
        elif not caller.hidden:
            self._flush(opened)
            line = self._act(opened, call)
            if caller.pos.isdigit():
                self._calls[caller.frame] = _Made(opened.stretch, line, call, int(caller.pos))
        if frame.version.startswith("llm"):
            self._close(owner.id, f"{frame.playbook} goes on")
            triggered = judged or caller.hidden
            recap = f"The trigger of {frame.playbook} holds." if triggered else f"{owner.playbook} calls {call}."
            self._begin(frame, recap)

    def _flush(self, opened: _Open) -> None:
        """Print what a person did instead of answering, when it is dealt with."""
        outcome, by_person = self._outcomes.pop(opened.stretch.frame, ("", False))
        if outcome and by_person:
            self._line(opened, f"instead of an answer: {outcome}")

    def _before_return(self, fact: frames.FrameReturned) -> None:
        frame, error = self._state.frames[fact.frame], fact.error
        if frame.version.startswith("llm") or frame.caller is None:
            opened = self._at(fact)
            assert opened is not None
            self._flush(opened)
            if error:
                self._line(opened, f"failed, {error[0]}: {shortened(error[1], MAX_VALUE_CHARS)}")
                self._close(frame.id, _ENDS if frame.caller is None else _RETURNS)
            else:
                self._act(opened, "returns" if fact.value is None else f"returns {_shown(fact.value)}")
                if fact.did:
                    self._act(opened, f"$__ is {_shown(fact.did)}")
                self._close(frame.id, _RETURNS)
        if frame.caller is not None:
            owner = self._owner(self._state.frames[frame.caller.frame])
            value = "" if fact.value is None else f" {_shown(fact.value)}"
            gave = f"failed: {shortened(error[1], MAX_VALUE_CHARS)}" if error else f"returned{value}."
            self._recaps[owner.id] = f"{frame.playbook} {gave}"

    # -- steps and values

    def _after_step(self, fact: frames.StepReached | frames.StepReturned) -> None:
        opened = self._at(fact)
        location = self._state.frames[fact.frame].step
        if opened is not None and location is not None:
            self._step(opened, location)

    @staticmethod
    def _step(opened: _Open, location: str) -> None:
        opened.stretch.lines.append(f"step {location.split(':')[1]}" if ":" in location else location)
        opened.joint = ": "

    def _after_set(self, fact: frames.VariableSet) -> None:
        opened = self._at(fact)
        if opened is None:
            return
        self._update(opened, fact, [fact.name])
        self._fired.add((fact.frame, fact.pos))
        for name in fact.fired:
            self._trigger(opened, name)

    def _update(self, opened: _Open, fact: frames.VariableSet | frames.CallReturned, names: Iterable[str]) -> None:
        self._flush(opened)
        call = self._calls.pop(fact.frame, None)
        for name in names:
            if call is not None and fact.pos == str(call.pos + 1):
                lines = call.stretch.lines
                lines[call.line] = lines[call.line].replace(call.text, f"${name} = {call.text}", 1)
            self._line(opened, f"${name} is {_shown(fact.value)}")

    def _before_result(self, fact: frames.CallReturned) -> None:
        opened = self._at(fact) if not fact.hidden else None
        if opened is None:
            return
        name, value = fact.name, fact.value
        if name == "Step" and value:
            self._flush(opened)
            self._step(opened, str(value))
        elif name == "Answer":
            self._answer(opened, value)
        elif name == "Var" and not fact.error:
            printed = (fact.frame, fact.pos)
            if printed in self._fired:
                self._fired.remove(printed)
            else:
                self._update(opened, fact, fact.sets)
        elif name == "Say":
            self._said(opened, fact.to, fact.text)
        elif name not in _SHOWN_OTHERWISE:
            self._flush(opened)
            self._act(opened, f"{name}(…)")

    def _answer(self, opened: _Open, value: Any) -> None:
        """A model's answer: its outcome is printed with what comes of it, its values where they are set."""
        if isinstance(value, Mapping) and "does" in value:
            if value["does"] != "answer":
                self._outcomes[opened.stretch.frame] = (str(value["does"]), True)
        elif isinstance(value, str):
            self._outcomes[opened.stretch.frame] = (value, False)

    # -- talk

    def _said(self, opened: _Open, to: str | None, text: str | None) -> None:
        if not text:
            return
        self._flush(opened)
        target = "" if to in (None, "", "human") else f"to {to}: "
        self._act(opened, f"says {target}{_shown(text)}")

    def _after_wait(self, fact: frames.WaitBegun) -> None:
        frame = self._state.frames.get(fact.frame)
        if frame is not None and fact.pos == TURN:
            self._close(self._owner(frame).id, f"waits for {_source(fact.source or {})}")

    def _before_took(self, fact: frames.WaitEnded) -> None:
        frame = self._state.frames[fact.frame]
        heard = _heard(self._messages(frame.agent, fact.messages))
        owner = self._owner(frame)
        if heard and owner.id not in self._open:
            self._recaps[owner.id] = heard

    def _messages(self, agent: str, ids: Sequence[str]) -> list[Message]:
        known = self._state.agent(agent)
        return [message for message in known.queue if message.id in ids] if known is not None else []


def _heard(messages: Sequence[Message]) -> str:
    return "; ".join(
        f"{message.sender_name or message.sender_class} said: {_shown(message.content)}" for message in messages
    )


def _source(source: Mapping[str, Any]) -> str:
    """The source of a wait, as `YLD for …` names it."""
    if "meeting" in source:
        return f"meeting {source['meeting']}"
    agents = source.get("agents")
    return ", ".join(map(as_named, agents)) if agents else "the user"


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return ", ".join([_shown(value) for value in args] + [f"{name}={_shown(value)}" for name, value in kwargs.items()])


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), MAX_VALUE_CHARS)
