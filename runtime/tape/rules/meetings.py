"""The fold's rules about meetings. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.address import Address
from runtime.core.message import message_from_data
from runtime.tape.rules.frames import call_key
from runtime.tape.state import MAX_HISTORY, AskState, MeetingState, SessionState, SharedValue
from runtime.tape.talk import last_of, said_by, speaker_of

Data = Mapping[str, Any]


def _meeting(state: SessionState, _: int, data: Data) -> None:
    meeting = MeetingState(data["id"], data["topic"], data["host"], data["f"], joined=[data["host"]])
    meeting.status, meeting.came = data.get("status", "inviting"), {data["host"]: state.at_s}
    meeting.type, meeting.since = data.get("type", data["topic"]), data.get("at", 0.0)
    state.meetings[data["id"]] = meeting
    state.frames[data["f"]].meeting = data["id"]


def _inviting(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.status = "inviting"
    frame = state.frames.get(meeting.frame)
    if frame is not None:  # arguments of the meeting, not of the playbook
        frame.kwargs = {name: value for name, value in frame.kwargs.items() if name not in data.get("own", ())}


def _asked(state: SessionState, _: int, data: Data) -> None:
    meeting, who = state.meetings[data["id"]], data["who"]
    _close_questions(state, meeting, who)
    meeting.invited[who] = ""
    meeting.asks[who] = AskState(data["by"], data["times"], data["due"], data["required"])


def _invite(state: SessionState, _: int, data: Data) -> None:
    """An answer; without one, in old tapes, the question."""
    meeting, who = state.meetings[data["id"]], data.get("who") or data["agent"]
    meeting.invited[who] = data["answer"]
    ask = meeting.asks.setdefault(who, AskState(meeting.host, due=0.0, required=True))
    if data["answer"] and not data.get("again"):
        ask.due = None
        _close_questions(state, meeting, who)


def _joined(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    for name in (data.get("named", data["who"]), data["who"]):
        _close_questions(state, meeting, name)
        meeting.asks.pop(name, None)
        meeting.invited.pop(name, None)
    meeting.invited[data["who"]] = "JOINED"
    if data["who"] not in meeting.joined:
        meeting.joined.append(data["who"])
        meeting.came[data["who"]] = state.at_s


def _left(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.joined = [who for who in meeting.joined if who != data["who"]]
    meeting.came.pop(data["who"], None)
    meeting.invited[data["who"]] = "LEFT"


def _meeting_active(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.status, meeting.held = "active", True


def _spoke(state: SessionState, _: int, data: Data) -> None:
    meeting, message = state.meetings[data["id"]], message_from_data(data["message"])
    if meeting.status != "ended":
        meeting.history = [*meeting.history, message][-MAX_HISTORY:]
    meeting.talk = last_of([*meeting.talk, *said_by(speaker_of(message), message.content)])
    if message.sender_id == meeting.host:
        meeting.cue = None


def _cue(state: SessionState, _: int, data: Data) -> None:
    state.meetings[data["id"]].cue = message_from_data(data["message"])


def _hears(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].inbox.append(message_from_data(data["message"]))


def question_of(meeting: MeetingState, who: str, times: int) -> tuple[str, str]:
    """The frame and the position of the question whether a person joins, asked for the `times`-th time."""
    return meeting.frame, f"invite.{who}.{times}"


def _close_questions(state: SessionState, meeting: MeetingState, who: str) -> None:
    ask = meeting.asks.get(who)
    if ask is not None:
        state.questions.pop(call_key(*question_of(meeting, who, ask.times)), None)


def close_meeting(state: SessionState, meeting: MeetingState, why: str | None = None) -> None:
    """A meeting has ended: invitations end with it."""
    for who in meeting.asks:
        _close_questions(state, meeting, who)
    meeting.status, meeting.why = "ended", why
    meeting.asks, meeting.history, meeting.cue = {}, [], None


def _place(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.place = Address(*data["place"])
    state.agents[meeting.host].at_home = False


def _place_lost(state: SessionState, _: int, data: Data) -> None:
    meeting = state.meetings[data["id"]]
    meeting.left, meeting.place = meeting.place, None


def _meeting_end(state: SessionState, _: int, data: Data) -> None:
    close_meeting(state, state.meetings[data["id"]], data.get("why"))


def _shared(state: SessionState, _: int, data: Data) -> None:
    shared = state.meetings[data["id"]].shared
    version = shared[data["name"]].version if data["name"] in shared else 0
    shared[data["name"]] = SharedValue(data["value"], version + 1, data["by"])


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "meeting": _meeting,
    "inviting": _inviting,
    "asked": _asked,
    "invite": _invite,
    "joined": _joined,
    "left": _left,
    "meeting_active": _meeting_active,
    "spoke": _spoke,
    "cue": _cue,
    "hears": _hears,
    "place": _place,
    "place_lost": _place_lost,
    "meeting_end": _meeting_end,
    "shared": _shared,
}
