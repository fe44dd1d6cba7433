"""The fold's rules about meetings. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.address import Address
from runtime.tape.state import MeetingState, SessionState, SharedValue

Data = Mapping[str, Any]


def _meeting(state: SessionState, _: int, data: Data) -> None:
    meeting = MeetingState(data["id"], data["topic"], data["host"], data["f"], joined=[data["host"]])
    state.meetings[data["id"]] = meeting
    state.frames[data["f"]].meeting = data["id"]


def _invite(state: SessionState, _: int, data: Data) -> None:
    state.meetings[data["id"]].invited[data["agent"]] = data["answer"]


def _joined(state: SessionState, _: int, data: Data) -> None:
    joined = state.meetings[data["id"]].joined
    if data["who"] not in joined:
        joined.append(data["who"])


def _left(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.joined = [who for who in meeting.joined if who != data["who"]]


def _meeting_active(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.status, meeting.held = "active", True


def _place(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.place = Address(*data["place"])
    state.agents[meeting.host].at_home = False


def _meeting_end(state: SessionState, _: int, data: Data) -> None:
    state.meetings[data["id"]].status = "ended"


def _shared(state: SessionState, _: int, data: Data) -> None:
    shared = state.meetings[data["id"]].shared
    version = shared[data["name"]].version if data["name"] in shared else 0
    shared[data["name"]] = SharedValue(data["value"], version + 1, data["by"])


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "meeting": _meeting,
    "invite": _invite,
    "joined": _joined,
    "left": _left,
    "meeting_active": _meeting_active,
    "place": _place,
    "meeting_end": _meeting_end,
    "shared": _shared,
}
