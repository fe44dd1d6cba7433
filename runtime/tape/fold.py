"""The fold: one pure function from facts to state, used live and in recovery.

Kinds, by what they are about (data keys in brackets; `f` is a frame, `pos` a call's position in it):
session   wake · broken[why] · begin[program, playbooks] ·
          adopted[program, playbooks, versions, begun, news] · told ·
          person[id, name, since?, alike?] · bound[id, human] ·
          file[name, type, url, size] · ended · heard[person, name, private, agent, message, text, pid?, place?]
lineage   branch[session, seq, why, home?] · returned · exchange[seq, person, name, text, pid?] · during[pid] ·
          thread[event, platform, conversation, thread?, seq] · forked[event] ·
          merged[agent, message, session, first, last]
agent     agent[id, class, participant?] · anew[agent, mids?, set?] · paused[agent] · in[agent, message] ·
          dropped[agent, mids] · changed[agent, message, text, pid] · recalled[agent, message, pid] ·
          aside[agent, message] · posted[agent, mids] · fetched[agent, mids] · altered[agent, set]
frame     start[f, agent, pb, args, kwargs, version, up?, mids?, begins?] · ret[f, val|exc, keep?, art?, sum?, did?] ·
          drop[f, pos, …] · turn[f, said?, heard?, gave?, waits?, args?, kwargs?] ·
          step[f, at, op, loops?, heard?, notes?, said?] · back[f, to, op, notes?, said?] ·
          compact[f, turns, summary] · park[f, waits] · steer[f, mids] · stop[agent, drop?, past?, idle?]
statement stmt[f, src, re?] · done[f, loc, prelude?] · failed[f, exc] · rej[f, rule, …] · end[f, how, val] ·
          described[f, text]
call      res[f, pos, name, dig, val|exc, set?, art?, to?] · set[f, pos, name, val, fired] ·
          intent[f, pos, name, dig, key]
waiting   wait[f, pos, name, dig, source, due] · took[f, pos, mids, val, asides?, cue?, as?, heard?, notes?, said?] ·
          ask[f, pos, page, options, of?, each?] ·
          answered[f, pos, mids, who, text] · reask[f, pos, page] · remind[agent, due, text, trigger?] · unremind[id] ·
          acks[f, pos, name, dig, message, who, page?, to, due]
sign      marking[pid, mark, place?] · marked[pid] ·
          closed[page, agent, text, free, reply, parts, place?] · settled[page]
page      page[f, agent, to, file?, reply?, choices?, place?] · opening[page, part, text] · sent[page, part, pid] ·
          held[page, text, due, + res] · fin[page, text, + res] · close[page, text] ·
          moved[page] · shown[page]
meeting   meeting[id, topic, host, f, type, at, status] · inviting[id, own?] ·
          asked[id, who, by, times, due, required] · invite[id, who, answer, again?] · joined[id, who, named?] ·
          meeting_active[id] · spoke[id, message] · hears[f, message] · cue[id, f, message] · left[id, who] ·
          meeting_end[id, why?] · place[id, place, nonce] · place_lost[id] · shared[id, name, value, by]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.errors import Divergence
from runtime.core.message import message_from_data
from runtime.tape.rules.compaction import RULES as COMPACTION_RULES
from runtime.tape.rules.course import RULES as COURSE_RULES
from runtime.tape.rules.frames import RULES as FRAME_RULES
from runtime.tape.rules.frames import prune, take_messages
from runtime.tape.rules.lineage import RULES as LINEAGE_RULES
from runtime.tape.rules.meetings import RULES as MEETING_RULES
from runtime.tape.rules.meetings import close_meeting
from runtime.tape.rules.participants import RULES as PARTICIPANT_RULES
from runtime.tape.rules.people import RULES as PEOPLE_RULES
from runtime.tape.rules.turns import RULES as TURN_RULES
from runtime.tape.state import AgentState, ReminderState, SessionState

Data = Mapping[str, Any]


def apply(state: SessionState, seq: int, kind: str, data: Data, at_s: float = 0.0) -> None:
    """Make fact number `seq` true in `state`, at a time in seconds since the epoch.

    Raises Divergence for a fact that cannot follow.
    """
    if seq != state.seq + 1:
        raise Divergence(f"fact {seq} ({kind}) follows fact {state.seq}: the tape has a gap")
    rule = _RULES.get(kind)
    if rule is None:
        raise Divergence(f"fact {seq} is of the unknown kind {kind!r}; was it written by a newer version?")
    state.at_s = at_s
    rule(state, seq, data)
    state.seq = seq


def _wake(state: SessionState, _: int, __: Data) -> None:
    state.broken = None


def _broken(state: SessionState, _: int, data: Data) -> None:
    state.broken = data["why"]


def _begin(state: SessionState, _: int, data: Data) -> None:
    state.started = True
    state.program, state.playbooks = data["program"], dict(data.get("playbooks") or {})


def _adopted(state: SessionState, _: int, data: Data) -> None:
    state.program, state.playbooks = data["program"], dict(data["playbooks"])
    state.news = {kind: list(names) for kind, names in data["news"].items()}
    for frame, version in data["versions"].items():
        state.frames[frame].version = version
    for agent, begun in data["begun"].items():
        state.agents[agent].begun = begun


def _told(state: SessionState, _: int, __: Data) -> None:
    state.news = {}


def _ended(state: SessionState, _: int, __: Data) -> None:
    state.ended = True
    for frame in [f.id for f in state.frames.values() if f.caller is None]:
        prune(state, frame)
    for meeting in state.meetings.values():
        close_meeting(state, meeting, meeting.why)


def _agent(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["id"]] = AgentState(data["id"], data["class"], dict(data.get("vars") or {}))
    agent.person, agent.answering, agent.since = data.get("person"), data.get("answering"), state.at_s
    agent.participant = data.get("participant")


def _anew(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    take_messages(state, agent.id, data.get("mids") or [])
    agent.begun, agent.paused, agent.talk = 0, False, []
    agent.variables.update(data.get("set") or {})


def _altered(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    for name, value in data["set"].items():
        agent.variables[name] = value
        agent.artifacts.pop(name, None)


def _paused(state: SessionState, _: int, data: Data) -> None:
    state.agents[data["agent"]].paused = True


def _in(state: SessionState, _: int, data: Data) -> None:
    message = message_from_data(data["message"])
    state.agents[data["agent"]].queue.append(message)
    state.reminders.pop(message.id, None)


def _remind(state: SessionState, seq: int, data: Data) -> None:
    state.reminders[f"remind.{seq}"] = ReminderState(data["agent"], data["due"], data["text"], data.get("trigger"))


def _unremind(state: SessionState, _: int, data: Data) -> None:
    state.reminders.pop(data["id"], None)


def _dropped(state: SessionState, _: int, data: Data) -> None:
    take_messages(state, data["agent"], data["mids"], read=False)


_RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    **PEOPLE_RULES,
    **FRAME_RULES,
    **COURSE_RULES,
    **TURN_RULES,
    **COMPACTION_RULES,
    **MEETING_RULES,
    **LINEAGE_RULES,
    **PARTICIPANT_RULES,
    "wake": _wake,
    "broken": _broken,
    "begin": _begin,
    "adopted": _adopted,
    "told": _told,
    "ended": _ended,
    "agent": _agent,
    "anew": _anew,
    "altered": _altered,
    "paused": _paused,
    "in": _in,
    "remind": _remind,
    "unremind": _unremind,
    "dropped": _dropped,
}
