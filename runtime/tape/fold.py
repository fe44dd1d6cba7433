"""The fold: one pure function from facts to state, used live and in recovery.

Kinds, by what they are about (data keys in brackets; `f` is a frame, `pos` a call's position in it):
session   wake · broken[why] · begin[program] · person[id, name] · file[name, type, url, size] · ended ·
          heard[person, name, private, agent, message, text, pid?]
agent     agent[id, class] · anew[agent, mids?, set?] · paused[agent] · in[agent, message] · dropped[agent, mids] ·
          changed[agent, message, text, pid] · recalled[agent, message, pid] · aside[agent, message]
frame     start[f, agent, pb, args, kwargs, version, up?, mids?, begins?] · ret[f, val|exc] · drop[f, pos, …]
          turn[f, said?, heard?, gave?, waits?, args?, kwargs?] ·
          park[f, waits] · steer[f, mids] · stop[agent, drop?, past?, idle?]
statement stmt[f, src] · done[f, loc, prelude?] · failed[f, exc] · rej[f, rule, …] · end[f, how, val]
call      res[f, pos, name, dig, val|exc, set?, to?] · set[f, pos, name, val, fired] · intent[f, pos]
waiting   wait[f, pos, name, dig, source, due] · took[f, pos, mids, val, asides?] ·
          ask[f, pos, page, options, of?]
sign      marking[pid, mark] · marked[pid] · closed[page, agent, text, free, reply, parts] · settled[page]
page      page[f, agent, to, file?, reply?, choices?] · opening[page, part, text] · sent[page, part, pid] ·
          fin[page, text, + res] · close[page, text] · shown[page]
meeting   meeting[id, topic, host, f] · invite[id, agent, answer] · joined[id, who] · left[id, who] · meeting_end[id]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.errors import Divergence
from runtime.core.message import Message, message_from_data
from runtime.tape.meeting_rules import RULES as MEETING_RULES
from runtime.tape.people_rules import RULES as PEOPLE_RULES
from runtime.tape.state import (
    AgentState,
    CallRecord,
    CallSite,
    Ending,
    FrameState,
    QuestionState,
    SessionState,
    StatementState,
    WaitState,
)

Data = Mapping[str, Any]

TURN = "turn"
"""The position of the wait between two turns of a frame."""


def apply(state: SessionState, seq: int, kind: str, data: Data) -> None:
    """Make fact number `seq` true in `state`. Raises Divergence for a fact that cannot follow."""
    if seq != state.seq + 1:
        raise Divergence(f"fact {seq} ({kind}) follows fact {state.seq}: the tape has a gap")
    rule = _RULES.get(kind)
    if rule is None:
        raise Divergence(f"fact {seq} is of the unknown kind {kind!r}; was it written by a newer version?")
    rule(state, seq, data)
    state.seq = seq


def call_key(frame: str, pos: str) -> str:
    """Where a host call is found in a session's waits and intents."""
    return f"{frame}|{pos}"


def _outcome(data: Data) -> tuple[Any, tuple[str, str] | None]:
    error = data.get("exc")
    return data.get("val"), (error[0], error[1]) if error else None


def _record(state: SessionState, data: Data) -> None:
    frame = state.frames.get(data["f"])
    if frame is None:
        return
    pos = data["pos"]
    key = call_key(frame.id, pos)
    state.waits.pop(key, None)
    state.intents.pop(key, None)
    state.fired.pop(key, None)
    state.questions.pop(key, None)
    agent = state.agents[frame.agent]
    variables = agent.variables
    variables.update(data.get("set") or {})
    if str(data.get("to")).startswith("agent "):
        agent.last_addressed = data["to"]
    value, error = _outcome(data)
    hidden = bool(data.get("hidden"))
    frame.records[pos] = CallRecord(data["name"], data["dig"], value, error, dict(variables), hidden)
    if not hidden:
        frame.order.append(pos)
    if data["name"] == "Step" and error is None:
        frame.step = value
        frame.turn_steps.append(value)


def _prune(state: SessionState, frame: str) -> None:
    gone = set(state.below(frame))
    for id_ in gone:
        del state.frames[id_]
    state.waits = {key: wait for key, wait in state.waits.items() if wait.frame not in gone}
    state.intents = {key: n for key, n in state.intents.items() if key.split("|")[0] not in gone}
    state.fired = {key: f for key, f in state.fired.items() if key.split("|")[0] not in gone}
    state.questions = {key: q for key, q in state.questions.items() if q.frame not in gone}


def _take(state: SessionState, agent: str, message_ids: list[str]) -> list[Message]:
    queue = state.agents[agent].queue
    wanted = set(message_ids)
    taken = [message for message in queue if message.id in wanted]
    if len(taken) != len(wanted):
        raise Divergence(f"agent {agent} takes messages that are not in its queue: {sorted(wanted)}")
    owner = state.agents[agent]
    owner.queue = [message for message in queue if message.id not in wanted]
    for message in taken:
        if message.from_human:
            owner.person, owner.answering = str(message.sender_id), message.platform_id
    return taken


def _asides(state: SessionState, agent: str) -> list[Message]:
    owner = state.agents[agent]
    asides, owner.asides = owner.asides, []
    return asides


def _wake(state: SessionState, _: int, __: Data) -> None:
    state.epoch += 1
    state.broken = None


def _broken(state: SessionState, _: int, data: Data) -> None:
    state.broken = data["why"]


def _begin(state: SessionState, _: int, data: Data) -> None:
    state.started = True
    state.program = data["program"]


def _ended(state: SessionState, _: int, __: Data) -> None:
    state.ended = True
    for frame in [f.id for f in state.frames.values() if f.caller is None]:
        _prune(state, frame)


def _agent(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["id"]] = AgentState(data["id"], data["class"], dict(data.get("vars") or {}))
    agent.person, agent.answering = data.get("person"), data.get("answering")


def _anew(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    _take(state, agent.id, data.get("mids") or [])
    agent.begun, agent.paused = 0, False
    agent.variables.update(data.get("set") or {})


def _paused(state: SessionState, _: int, data: Data) -> None:
    state.agents[data["agent"]].paused = True


def _in(state: SessionState, _: int, data: Data) -> None:
    state.agents[data["agent"]].queue.append(message_from_data(data["message"]))


def _dropped(state: SessionState, _: int, data: Data) -> None:
    _take(state, data["agent"], data["mids"])


def _start(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    up = data.get("up")
    if up is None:
        agent.roots += 1
    if data.get("begins"):
        agent.begun += 1
    frame = FrameState(
        data["f"],
        data["agent"],
        data["pb"],
        list(data["args"]),
        dict(data["kwargs"]),
        data["version"],
        CallSite(**up) if up else None,
        meeting=data.get("meeting"),
    )
    agent.variables.update(data.get("set") or {})
    frame.base = dict(agent.variables)
    mids = data.get("mids") or []
    frame.inbox = [*(_asides(state, agent.id) if mids else ()), *_take(state, agent.id, mids)]
    if up is None:
        frame.transcript, agent.past = agent.past, []
    state.frames[frame.id] = frame


def _ret(state: SessionState, _: int, data: Data) -> None:
    caller = state.frames[data["f"]].caller
    _prune(state, data["f"])
    if caller is not None:
        value, error = _outcome(data)
        _record(
            state,
            {
                "f": caller.frame,
                "pos": caller.pos,
                "name": caller.name,
                "dig": caller.digest,
                "val": value,
                "exc": error,
                "hidden": caller.hidden,
            },
        )


def _drop(state: SessionState, _: int, data: Data) -> None:
    _prune(state, f"{data['f']}:{data['pos']}")
    _record(state, data)


def _stop(state: SessionState, _: int, data: Data) -> None:
    agent = data["agent"]
    for frame in state.roots(agent):
        _prune(state, frame.id)
    owner = state.agents[agent]
    owner.paused = owner.paused or not data.get("idle")
    owner.past = list(data.get("past") or ())
    dropped = set(data.get("drop") or ())
    owner.queue = [message for message in owner.queue if message.id not in dropped]
    for meeting in state.meetings.values():
        meeting.joined = [who for who in meeting.joined if who != agent]
        if meeting.host == agent:
            meeting.status = "ended"


def _park(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].waits_for = data["waits"]


def _steer(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.inbox += _take(state, frame.agent, data["mids"])
    frame.steered += data["mids"]


def _turn(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.turn += 1
    if data.get("said") is not None:
        frame.transcript.append({"heard": data["heard"], "said": data["said"]})
    frame.args = list(data.get("args", frame.args))
    frame.kwargs = dict(data.get("kwargs", frame.kwargs))
    frame.gave = data.get("gave", "")
    frame.waits_for = data.get("waits")
    frame.records, frame.order, frame.statements, frame.turn_steps = {}, [], [], []
    frame.rejections, frame.inbox, frame.steered, frame.ending = [], [], [], None
    if data.get("said") is not None:
        frame.inbox += _asides(state, frame.agent)
    frame.base = dict(state.agents[frame.agent].variables)


def _stmt(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.statements.append(StatementState(data["src"], dict(state.agents[frame.agent].variables)))


def _done(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.statements[-1].done = True
    frame.locals.update(data.get("loc") or {})
    frame.prelude.extend(data.get("prelude") or [])


def _failed(state: SessionState, _: int, data: Data) -> None:
    statement = state.frames[data["f"]].statements[-1]
    statement.done = True
    statement.error = (data["exc"][0], data["exc"][1])


def _rej(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].rejections.append({k: v for k, v in data.items() if k != "f"})


def _end(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.ending = Ending(data["how"], data.get("val"))
    frame.statements[-1].done = True


def _res(state: SessionState, _: int, data: Data) -> None:
    _record(state, data)


def _set(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    state.agents[frame.agent].variables[data["name"]] = data["val"]
    state.fired[call_key(frame.id, data["pos"])] = list(data["fired"])


def _intent(state: SessionState, seq: int, data: Data) -> None:
    state.intents[call_key(data["f"], data["pos"])] = seq


def _wait(state: SessionState, seq: int, data: Data) -> None:
    state.waits[call_key(data["f"], data["pos"])] = WaitState(
        data["f"], data["pos"], data["name"], data["dig"], data["source"], data["due"], seq
    )


def _took(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    taken = _take(state, frame.agent, data["mids"])
    if data["pos"] == TURN:
        state.waits.pop(call_key(frame.id, TURN), None)
        frame.inbox += [*_asides(state, frame.agent), *taken]
        frame.waits_for = None
        return
    if data.get("asides"):
        _asides(state, frame.agent)
    _record(state, data)


def _ask(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    state.questions[call_key(data["f"], data["pos"])] = QuestionState(
        data["f"], page.id, data["text"], list(data["options"]), data.get("of"), page.reply_to
    )


def _fin(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.status, page.text = "final", data["text"]
    if data.get("pos") is not None:
        _record(state, data)


_RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    **PEOPLE_RULES,
    **MEETING_RULES,
    "wake": _wake,
    "broken": _broken,
    "begin": _begin,
    "ended": _ended,
    "agent": _agent,
    "anew": _anew,
    "paused": _paused,
    "in": _in,
    "dropped": _dropped,
    "start": _start,
    "ret": _ret,
    "drop": _drop,
    "stop": _stop,
    "park": _park,
    "steer": _steer,
    "turn": _turn,
    "stmt": _stmt,
    "done": _done,
    "failed": _failed,
    "rej": _rej,
    "end": _end,
    "res": _res,
    "set": _set,
    "intent": _intent,
    "wait": _wait,
    "took": _took,
    "ask": _ask,
    "fin": _fin,
}
