"""Tells what becomes of frames: when they are taken up, wait for long, and end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.bus import Bus
from runtime.execution.frames.frame import Frame
from runtime.tape.facts.content import Content
from runtime.tape.facts.frames import FrameReturned, FrameStarted
from runtime.tape.frame_state import WaitState
from runtime.tape.journal import Journal

About = Mapping[str, Any]
"""The data of every event of a frame."""


class FrameEvents:
    """The events `frame.*` of one session. Each frame that is taken up is let go of exactly once."""

    def __init__(self, journal: Journal, bus: Bus, **session: str) -> None:
        """`session` is what all of them say of their session besides its id."""
        self._journal = journal
        self._bus = bus
        self._session = {"session_id": journal.session, **session}
        self._begun: set[str] = set()

    def noted(self, fact: Content) -> None:
        """Take every fact."""
        if isinstance(fact, FrameStarted):
            self._begun.add(fact.frame)

    def taken_up(self, frame: Frame, kind: str) -> About:
        """A frame is in memory: it has started, or continues where it was."""
        state, agent = frame.state, frame.agent
        about = {
            **self._session,
            "frame": frame.id,
            "caller": None if state.caller is None else state.caller.frame,
            "agent_id": state.agent,
            "agent": agent.klass,
            "playbook": state.playbook,
            "kind": kind,
            "participant_id": agent.person or self._journal.state.person,
            "meeting_id": state.meeting,
        }
        arguments = state.kwargs or state.args
        if frame.id in self._begun:
            self._begun.discard(frame.id)
            self._bus.publish("frame.started", **about, arguments=arguments)
        else:
            self._bus.publish("frame.restored", **about, arguments=arguments)
        return about

    def let_go(self, about: About, outcome: FrameReturned | None) -> None:
        """It is no more in memory; without an outcome it was stopped, or its session leaves memory."""
        if outcome is None:
            self._bus.publish("frame.stopped", **about)
        elif outcome.error is None:
            self._bus.publish("frame.returned", **about, value=outcome.value)
        else:
            error_type, error = outcome.error
            self._bus.publish("frame.failed", **about, error_type=error_type, error=error)

    def waits(self, frame: Frame, wait: WaitState) -> None:
        """It waits, and may do so for long."""
        until = None if wait.due is None else datetime.fromtimestamp(wait.due, UTC).isoformat()
        self._tell("frame.parked", frame, waits_for=_whom(wait.source), until=until)

    def goes_on(self, frame: Frame) -> None:
        """The awaited message has come, or the time is over."""
        self._tell("frame.resumed", frame)

    def _tell(self, name: str, frame: Frame, **data: Any) -> None:
        self._bus.publish(name, session_id=self._journal.session, frame=frame.id, **data)


def _whom(source: Mapping[str, Any] | None) -> str:
    """The kind of wait: "people", "meeting", "agents", "task" or "time"."""
    if source is None:
        return "time"
    if source.get("any") or source.get("human"):
        return "people"
    if "task" in source:
        return "task"
    return "meeting" if "meeting" in source else "agents"
