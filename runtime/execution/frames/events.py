"""Tells what becomes of frames: when they are taken up, wait for long, and end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.bus import Bus
from runtime.events import frames as happened
from runtime.execution.frames.frame import Frame
from runtime.tape.facts.frames import FrameReturned, FrameStarted
from runtime.tape.facts.registry import hears
from runtime.tape.journal import Journal
from runtime.tape.state.frames import WaitState

Place = tuple[str, str, str, str]
"""The session, the frame, its agent and its playbook, as all that happens at its work names them."""


def at_work(session: str, frame: Frame) -> Place:
    return session, frame.id, frame.state.agent, frame.state.playbook


class FrameEvents:
    """The events `frame.*` of one session. Each frame that is taken up is let go of exactly once."""

    def __init__(self, journal: Journal, bus: Bus, *, conversation: str, program: str) -> None:
        self._journal = journal
        self._bus = bus
        self._conversation, self._program = conversation, program
        self._begun: set[str] = set()

    @hears(FrameStarted)
    def noted(self, fact: FrameStarted) -> None:
        """Remember which frames have just started."""
        self._begun.add(fact.frame)

    def taken_up(self, frame: Frame, kind: str) -> happened.FrameAbout:
        """A frame is in memory: it has started, or continues where it was."""
        state, agent = frame.state, frame.agent
        about = happened.FrameAbout(
            self._journal.session,
            self._conversation,
            self._program,
            frame.id,
            caller=None if state.caller is None else state.caller.frame,
            agent_id=state.agent,
            agent=agent.klass,
            playbook=state.playbook,
            kind=kind,
            participant_id=agent.person or self._journal.state.person,
            meeting_id=state.meeting,
        )
        arguments = state.kwargs or state.args
        if frame.id in self._begun:
            self._begun.discard(frame.id)
            self._bus.publish(happened.FrameOpened(about, arguments))
        else:
            self._bus.publish(happened.FrameRestored(about, arguments))
        return about

    def let_go(self, about: happened.FrameAbout, outcome: FrameReturned | None) -> None:
        """It is no more in memory; without an outcome it was stopped, or its session leaves memory."""
        if outcome is None:
            self._bus.publish(happened.FrameStopped(about))
        elif outcome.error is None:
            self._bus.publish(happened.FrameCompleted(about, outcome.value))
        else:
            error_type, error = outcome.error
            self._bus.publish(happened.FrameFailed(about, error_type, error, str(outcome.raised_at)))

    def waits(self, frame: Frame, wait: WaitState) -> None:
        """It waits, and may do so for long."""
        until = None if wait.due is None else datetime.fromtimestamp(wait.due, UTC).isoformat()
        self._bus.publish(happened.FrameWaiting(self._journal.session, frame.id, _whom(wait.source), until))

    def goes_on(self, frame: Frame) -> None:
        """The awaited message has come, or the time is over."""
        self._bus.publish(happened.FrameResumed(self._journal.session, frame.id))


def _whom(source: Mapping[str, Any] | None) -> str:
    """The kind of wait: "people", "meeting", "agents", "task" or "time"."""
    if source is None:
        return "time"
    if source.get("any") or source.get("human"):
        return "people"
    if "task" in source:
        return "task"
    return "meeting" if "meeting" in source else "agents"
