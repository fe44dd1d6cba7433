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
page      page[f, agent, to, file?, reply?, choices?] · opening[page, part, text] · sent[page, part, pid] ·
          fin[page, text, + res] · close[page, text] · shown[page]
meeting   meeting[id, topic, host, f] · invite[id, agent, answer] · joined[id, who] · left[id, who] · meeting_end[id]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from runtime.core.errors import Divergence
from runtime.core.message import Attachment, Message, message_from_data
from runtime.tape.state import (
    MAX_FILES,
    MAX_REMEMBERED,
    AgentState,
    CallRecord,
    CallSite,
    Ending,
    FrameState,
    HeardState,
    MeetingState,
    PageState,
    QuestionState,
    SaidState,
    SessionState,
    StatementState,
    WaitState,
)

Data = Mapping[str, Any]

_Known = TypeVar("_Known")

MAX_ASIDES = 50
"""So much of what happened to messages is kept for an agent to see."""

MAX_QUOTED_CHARS = 500
"""So much of what an agent said is kept to be quoted."""

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


def _remember(known: dict[str, _Known], key: str, value: _Known) -> None:
    known.pop(key, None)
    known[key] = value
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]


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


def _person(state: SessionState, _: int, data: Data) -> None:
    state.people[data["id"]] = data["name"]


def _file(state: SessionState, _: int, data: Data) -> None:
    file = Attachment(data["name"], data["type"], data["url"], data.get("size"))
    state.files = [*(known for known in state.files if known.url != file.url), file][-MAX_FILES:]


def _heard(state: SessionState, _: int, data: Data) -> None:
    state.person, state.private = data["person"], data["private"]
    if data.get("pid") is not None:
        heard = HeardState(data["message"], data["agent"], data["person"], data["name"], data["text"])
        _remember(state.heard, data["pid"], heard)


def _changed(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    agent.queue = [replace(m, content=data["text"]) if m.id == data["message"] else m for m in agent.queue]
    state.heard[data["pid"]].text = data["text"]


def _recalled(state: SessionState, _: int, data: Data) -> None:
    agent = state.agents[data["agent"]]
    agent.queue = [message for message in agent.queue if message.id != data["message"]]
    state.heard.pop(data["pid"], None)


def _aside(state: SessionState, _: int, data: Data) -> None:
    asides = state.agents[data["agent"]].asides
    asides.append(message_from_data(data["message"]))
    del asides[:-MAX_ASIDES]


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


def _page(state: SessionState, seq: int, data: Data) -> None:
    file = Attachment(*data["file"]) if data.get("file") else None
    page = PageState(str(seq), data["f"], data["agent"], data["to"], file=file)
    page.reply_to, page.choices = data.get("reply"), list(data.get("choices") or ())
    state.pages[page.id] = page
    agent = state.agents.get(page.agent)
    if agent is not None and page.reply_to is not None:
        agent.answering = None


def _opening(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.get(data["page"])
    if page is not None:
        page.opened.setdefault(data["part"], data["text"])


def _sent(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.get(data["page"])
    if page is not None:
        page.parts[data["part"]] = data["pid"]
        text = page.text or page.opened.get(data["part"], "")
        _remember(state.said, data["pid"], SaidState(page.agent, text[:MAX_QUOTED_CHARS]))
    for question in state.questions.values():
        if question.page == data["page"]:
            question.parts[data["part"]] = data["pid"]


def _fin(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.status, page.text = "final", data["text"]
    if data.get("pos") is not None:
        _record(state, data)


def _close(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.status, page.text = "closed", data["text"]
    if not page.opened:
        del state.pages[page.id]


def _shown(state: SessionState, _: int, data: Data) -> None:
    page = state.pages.pop(data["page"], None)
    for pid in page.parts.values() if page is not None else ():
        if page is not None and pid in state.said:
            state.said[pid].text = page.text[:MAX_QUOTED_CHARS]


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
    state.meetings[data["id"]].status = "active"


def _meeting_end(state: SessionState, _: int, data: Data) -> None:
    state.meetings[data["id"]].status = "ended"


_RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "wake": _wake,
    "broken": _broken,
    "begin": _begin,
    "ended": _ended,
    "person": _person,
    "file": _file,
    "heard": _heard,
    "changed": _changed,
    "recalled": _recalled,
    "aside": _aside,
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
    "page": _page,
    "opening": _opening,
    "sent": _sent,
    "fin": _fin,
    "close": _close,
    "shown": _shown,
    "meeting": _meeting,
    "invite": _invite,
    "joined": _joined,
    "left": _left,
    "meeting_active": _meeting_active,
    "meeting_end": _meeting_end,
}
