"""The fold's rules about frames: their turns, statements, calls and waits. See `fold` for the kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from runtime.core.errors import Divergence
from runtime.core.message import Message
from runtime.tape.acks import settle_message
from runtime.tape.frame_state import (
    CallRecord,
    CallSite,
    FrameState,
    IntentState,
    WaitState,
)
from runtime.tape.people_state import QuestionState
from runtime.tape.rules.course import end_exchange, hear
from runtime.tape.state import MAX_ARTIFACTS, AgentState, SessionState
from runtime.tape.talk import SUMMARY, hand_on, keep_heard, keep_said, past_of

Data = Mapping[str, Any]

_UNNAMED = re.compile(r"a_[0-9a-f]{8}\Z")


def is_unnamed(artifact: str) -> bool:
    """Whether this is the name of an artifact that nobody named."""
    return _UNNAMED.match(artifact) is not None


TURN = "turn"
"""The position of the wait between two turns of a frame."""


def call_key(frame: str, pos: str) -> str:
    """The key of a host call in a session's waits and intents."""
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
    state.acks.pop(key, None)
    agent = state.agents[frame.agent]
    variables = agent.variables
    changed = data.get("set") or {}
    variables.update(changed)
    _keep_artifacts(agent, data.get("art") or {})
    note_addressed(agent, data.get("to"))
    value, error = _outcome(data)
    hidden = bool(data.get("hidden"))
    said = data.get("text")
    if data["name"] == "Var":
        frame.summary = str(changed.get(SUMMARY) or frame.summary)
    if data["name"] == "Say" and said:
        keep_said(frame, agent.klass, said, data.get("to"))
    frame.records[pos] = CallRecord(data["name"], data["dig"], value, error, dict(variables), hidden, said)
    if not hidden:
        frame.order.append(pos)
    if data["name"] == "Step" and error is None:
        frame.step = value
        frame.turn_steps.append(value)


def note_addressed(agent: AgentState, to: str | None) -> None:
    """Record the last private addressees."""
    kind, _, who = (to or "").partition(" ")
    if kind == "agent":
        agent.last_addressed = to
    elif kind == "person":
        agent.last_person = who
    elif to == "human":
        agent.last_person = None


def _keep_artifacts(agent: AgentState, named: Mapping[str, str]) -> None:
    agent.artifacts.update(named)
    unnamed = [name for name in agent.artifacts if is_unnamed(name)]
    for name in unnamed[: max(0, len(unnamed) - MAX_ARTIFACTS)]:
        del agent.artifacts[name]
        agent.variables.pop(name, None)


def prune(state: SessionState, frame: str) -> None:
    """A frame is no more, nor are those that it called."""
    gone = set(state.below(frame))
    for id_ in gone:
        ended = state.frames.pop(id_)
        state.agents[ended.agent].since = state.at_s
        meeting = state.meetings.get(ended.meeting or "")
        if meeting is not None and meeting.frame == id_:
            meeting.shared = {}
    state.waits = {key: wait for key, wait in state.waits.items() if wait.frame not in gone}
    state.intents = {key: n for key, n in state.intents.items() if key.split("|")[0] not in gone}
    state.fired = {key: f for key, f in state.fired.items() if key.split("|")[0] not in gone}
    state.questions = {key: q for key, q in state.questions.items() if q.frame not in gone}
    state.acks = {key: ack for key, ack in state.acks.items() if key.split("|")[0] not in gone}


def take_messages(state: SessionState, agent: str, message_ids: list[str], *, read: bool = True) -> list[Message]:
    """Messages leave an agent's queue, in its order; `read`: it has them. Raises Divergence when one is not there."""
    queue = state.agents[agent].queue
    wanted = set(message_ids)
    taken = [message for message in queue if message.id in wanted]
    if len(taken) != len(wanted):
        raise Divergence(f"agent {agent} takes messages that are not in its queue: {sorted(wanted)}")
    owner = state.agents[agent]
    owner.queue = [message for message in queue if message.id not in wanted]
    leave_mailbox(owner, wanted)
    for message in taken:
        if message.ack_required:
            settle_message(state.acks, message.id, agent, has_it=read)
        if message.from_human:
            owner.person, owner.answering = str(message.sender_id), message.platform_id
            owner.at_home = message.platform_id not in state.written_at
    return taken


def leave_mailbox(agent: AgentState, messages: set[str]) -> None:
    """Withdraw messages from another process."""
    if agent.posted:
        agent.posted = [message for message in agent.posted if message not in messages]


def _asides(state: SessionState, agent: str) -> list[Message]:
    owner = state.agents[agent]
    asides, owner.asides = owner.asides, []
    return asides


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
    agent.at_home = agent.at_home and (up is not None or frame.meeting is None)
    agent.variables.update(data.get("set") or {})
    frame.since = state.at_s
    frame.fired = list(data.get("fired") or ())
    frame.base = dict(agent.variables)
    mids = data.get("mids") or []
    frame.inbox = [*(_asides(state, agent.id) if mids else ()), *take_messages(state, agent.id, mids)]
    if up is None:
        frame.transcript, agent.past = agent.past or past_of(agent.talk), []
        frame.talk = agent.talk
    keep_heard(frame, frame.inbox)
    state.frames[frame.id] = frame


def _ret(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    caller, did = frame.caller, data.get("sum") or data.get("did")
    prune(state, data["f"])
    if caller is None:
        state.agents[frame.agent].talk = frame.talk
        return
    hand_on(frame, state.frames.get(caller.frame), did)
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
            "set": dict.fromkeys(data.get("keep") or (), value) | ({SUMMARY: did} if did else {}),
            "art": data.get("art"),
        },
    )


def _drop(state: SessionState, _: int, data: Data) -> None:
    prune(state, f"{data['f']}:{data['pos']}")
    _record(state, data)


def _stop(state: SessionState, _: int, data: Data) -> None:
    agent = data["agent"]
    for frame in state.roots(agent):
        prune(state, frame.id)
    owner = state.agents[agent]
    owner.paused = owner.paused or not data.get("idle")
    owner.past = list(data.get("past") or ())
    dropped = set(data.get("drop") or ())
    for message in owner.queue:
        if message.id in dropped and message.ack_required:
            settle_message(state.acks, message.id, agent, has_it=False)
    leave_mailbox(owner, dropped)
    if owner.participant is not None:
        owner.stops += 1
    owner.queue = [message for message in owner.queue if message.id not in dropped]
    for meeting in state.meetings.values():
        meeting.joined = [who for who in meeting.joined if who != agent]
        if meeting.host == agent:
            meeting.status = "ended"


def _park(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].waits_for = data["waits"]


def _steer(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    taken = take_messages(state, frame.agent, data["mids"])
    frame.inbox += taken
    keep_heard(frame, taken)
    frame.steered += data["mids"]
    if data.get("heard"):
        frame.heard = f"{frame.heard}\n{data['heard']}".strip()


def _turn(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    frame.turn += 1
    frame.unwaited = 0 if data.get("waits") is not None else frame.unwaited + 1
    if data.get("said") is not None:
        end_exchange(frame)
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


def _described(state: SessionState, _: int, data: Data) -> None:
    state.frames[data["f"]].description = data["text"]


def _res(state: SessionState, _: int, data: Data) -> None:
    _record(state, data)


def _set(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    state.agents[frame.agent].variables[data["name"]] = data["val"]
    state.fired[call_key(frame.id, data["pos"])] = list(data["fired"])


def _intent(state: SessionState, _: int, data: Data) -> None:
    state.intents[call_key(data["f"], data["pos"])] = IntentState(data["name"], data["dig"], data["key"])


def _wait(state: SessionState, seq: int, data: Data) -> None:
    state.waits[call_key(data["f"], data["pos"])] = WaitState(
        data["f"], data["pos"], data["name"], data["dig"], data["source"], data["due"], seq, state.at_s
    )


def _took(state: SessionState, _: int, data: Data) -> None:
    frame = state.frames[data["f"]]
    taken = take_messages(state, frame.agent, data["mids"])
    keep_heard(frame, taken)
    if data["pos"] == TURN:
        state.waits.pop(call_key(frame.id, TURN), None)
        frame.inbox += [*_asides(state, frame.agent), *taken]
        frame.waits_for = None
        if "heard" in data:
            hear(frame, data)
            frame.inbox = list(taken)
        if "as" in data:
            _record(state, {**data, "pos": data["as"], "name": "Hear", "dig": ""})
        return
    if data.get("asides"):
        _asides(state, frame.agent)
    if data.get("cue"):
        state.meetings[data["cue"]].cue = None
    _record(state, data)


def _ask(state: SessionState, _: int, data: Data) -> None:
    """Messages from before a question do not answer it: the next wait hears them."""
    page, frame = state.pages[data["page"]], state.frames[data["f"]]
    agent = state.agents[frame.agent]
    agent.queue[:] = [replace(message, aside=True) if message.from_human else message for message in agent.queue]
    keep_said(frame, agent.klass, data["text"])
    question = state.questions[call_key(data["f"], data["pos"])] = QuestionState(
        data["f"], page.id, data["text"], list(data["options"]), data.get("of"), page.reply_to, place=page.place
    )
    question.each = dict(data.get("each") or {})


def _answered(state: SessionState, _: int, data: Data) -> None:
    key = call_key(data["f"], data["pos"])
    question, wait, frame = state.questions[key], state.waits[key], state.frames[data["f"]]
    keep_heard(frame, take_messages(state, frame.agent, data["mids"]))
    question.answers[data["who"]] = data["text"]
    left = [person for name, person in question.each.items() if name not in question.answers]
    wait.source = {**(wait.source or {}), "people": left}


def _fin(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.status, page.text = "final", data["text"]
    if data.get("pos") is not None:
        _record(state, data)


def _held(state: SessionState, _: int, data: Data) -> None:
    page = state.pages[data["page"]]
    page.text = f"{page.text}\n\n{data['text']}" if page.status == "held" else data["text"]
    page.status, page.due = "held", data["due"]
    if data.get("pos") is not None:
        _record(state, data)


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "start": _start,
    "ret": _ret,
    "drop": _drop,
    "stop": _stop,
    "park": _park,
    "steer": _steer,
    "turn": _turn,
    "described": _described,
    "res": _res,
    "set": _set,
    "intent": _intent,
    "wait": _wait,
    "took": _took,
    "ask": _ask,
    "answered": _answered,
    "fin": _fin,
    "held": _held,
}
