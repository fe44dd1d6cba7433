"""The fold's rules about frames: their turns, statements, calls and waits. See `fold` for the kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from runtime.core.errors import Divergence
from runtime.core.ids import AgentId, person_id
from runtime.core.message import Message
from runtime.tape.facts import frames as facts
from runtime.tape.facts.people import PageFinished, PageHeld
from runtime.tape.facts.registry import rule
from runtime.tape.facts.session import AgentStopped
from runtime.tape.rules.course import changed, end_exchange, hear, spoke, waited
from runtime.tape.rules.tasks import end_chain, note_taken_words
from runtime.tape.state import frames as states
from runtime.tape.state.people import QuestionState
from runtime.tape.state.session import MAX_ARTIFACTS, AgentState, SessionState

_UNNAMED = re.compile(r"a_[0-9a-f]{8}\Z")

_ONLY_WORDS = frozenset({"Say", "Answer", "Hear", "Step"})
"""Calls that change nothing but what was said and heard."""

TURN = "turn"
"""The position of the wait between two turns of a frame."""


def is_unnamed(artifact: str) -> bool:
    return _UNNAMED.match(artifact) is not None


@rule(facts.CallReturned)
def _record(state: SessionState, _: int, fact: facts.CallReturned) -> None:
    frame = state.frames.get(fact.frame)
    if frame is None:
        return
    pos, key = fact.pos, states.CallKey(frame.id, fact.pos)
    wait = state.waits.pop(key, None)
    if wait is not None and wait.lasts:
        waited(state, frame)
    if fact.name in ("Ask", "SendFile") or (fact.to and not fact.to.startswith("agent ")):  # to people or a meeting
        spoke(state, frame)
    state.intents.pop(key, None)
    state.fired.pop(key, None)
    state.questions.pop(key, None)
    state.acks.pop(key, None)
    agent = state.agents[frame.agent]
    variables = agent.variables
    variables.update(fact.sets)
    if fact.artifacts:
        _keep_artifacts(agent, fact.artifacts)
    note_addressed(agent, fact.to)
    if fact.name == "Var":
        frame.summary = str(fact.sets.get(states.SUMMARY) or frame.summary)
    if fact.name == "Say" and fact.text:
        states.keep_said(frame, agent.klass, fact.text, fact.to)
    outcome = (fact.value, fact.error, dict(variables), fact.hidden, fact.text, fact.raised_at)
    record = states.CallRecord(fact.name, fact.digest, *outcome)
    frame.records[pos] = record
    if not fact.hidden:
        frame.order.append(pos)
    if fact.name not in _ONLY_WORDS:
        changed(frame)
    if fact.name == "Step" and fact.error is None:
        frame.step = fact.value
        frame.turn_steps.append(fact.value)


def note_addressed(agent: AgentState, to: str | None) -> None:
    """Record the last private addressees."""
    kind, _, who = (to or "").partition(" ")
    if kind == "agent":
        agent.last_addressed = to
    elif kind == "person":
        agent.last_person = person_id(who)
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
    state.intents = {key: n for key, n in state.intents.items() if key.frame not in gone}
    state.fired = {key: f for key, f in state.fired.items() if key.frame not in gone}
    state.questions = {key: q for key, q in state.questions.items() if q.frame not in gone}
    state.acks = {key: ack for key, ack in state.acks.items() if key.frame not in gone}


def take_messages(
    state: SessionState, agent: AgentId, message_ids: Sequence[str], *, read: bool = True
) -> list[Message]:
    """Messages leave an agent's queue, in its order; `read`: it has them. Raises Divergence when one is not there."""
    queue = state.agents[agent].queue
    wanted = set(message_ids)
    taken = [message for message in queue if message.id in wanted]
    if len(taken) != len(wanted):
        raise Divergence(f"agent {agent} takes messages that are not in its queue: {sorted(wanted)}")
    owner = state.agents[agent]
    owner.queue = [message for message in queue if message.id not in wanted]
    leave_mailbox(owner, wanted)
    if read:
        for task in state.tasks.values():
            task.heard = task.heard or task.message in wanted
    note_taken_words(state, taken)
    for message in taken:
        if message.ack_required:
            states.settle_message(state.acks, message.id, agent, has_it=read)
        if message.from_human:
            owner.person, owner.answering = person_id(message.sender_id), message.platform_id
            place = state.written_at.get(message.platform_id or "")
            owner.at_home = place is None or not any(m.hears_from(place) for m in state.meetings.values())
    authors = [message.sender_id for message in taken if message.from_human]
    if len(authors) > 1:  # what is said next answers none of them alone
        owner.answering = None
    owner.crowd = len(set(authors)) > 1 if authors else owner.crowd
    return taken


def leave_mailbox(agent: AgentState, messages: set[str]) -> None:
    """Withdraw messages from another process."""
    if agent.posted:
        agent.posted = [message for message in agent.posted if message not in messages]


def _asides(state: SessionState, agent: AgentId) -> list[Message]:
    owner = state.agents[agent]
    asides, owner.asides = owner.asides, []
    return asides


@rule(facts.FrameStarted)
def _start(state: SessionState, _: int, fact: facts.FrameStarted) -> None:
    agent = state.agents[fact.agent]
    up = fact.caller
    if up is None:
        agent.roots += 1
    if fact.begins:
        agent.begun += 1
    frame = states.FrameState(
        fact.frame, fact.agent, fact.playbook, list(fact.args), dict(fact.kwargs), fact.version, up
    )
    frame.meeting = fact.meeting
    agent.at_home = agent.at_home and (up is not None or frame.meeting is None)
    agent.variables.update(fact.variables)
    frame.since = state.at_s
    frame.fired = list(fact.fired)
    frame.base = dict(agent.variables)
    mids = fact.messages
    frame.inbox = [*(_asides(state, agent.id) if mids else ()), *take_messages(state, agent.id, mids)]
    if up is None:
        frame.transcript, agent.past = agent.past or states.past_of(agent.talk), []
        frame.talk = agent.talk
    states.keep_heard(frame, frame.inbox)
    state.frames[frame.id] = frame


@rule(facts.FrameReturned)
def _ret(state: SessionState, seq: int, fact: facts.FrameReturned) -> None:
    frame = state.frames[fact.frame]
    caller, did = frame.caller, fact.summary or fact.did
    prune(state, fact.frame)
    if caller is None:
        state.agents[frame.agent].talk = frame.talk
        if fact.error is not None:
            state.note_failure(seq, fact.error)
        return
    states.hand_on(frame, state.frames.get(caller.frame), did)
    variables = dict.fromkeys(fact.kept, fact.value) | ({states.SUMMARY: did} if did else {})
    returned = facts.CallReturned(
        caller.frame,
        caller.pos,
        caller.name,
        caller.digest,
        fact.value,
        fact.error,
        artifacts=fact.artifacts,
        sets=variables,
        hidden=caller.hidden,
        raised_at=fact.raised_at,
    )
    _record(state, 0, returned)


@rule(facts.CallDropped)
def _drop(state: SessionState, _: int, fact: facts.CallDropped) -> None:
    prune(state, f"{fact.frame}:{fact.pos}")
    _record(state, 0, facts.CallReturned(fact.frame, fact.pos, fact.name, fact.digest, error=fact.error))


@rule(AgentStopped)
def _stop(state: SessionState, _: int, fact: AgentStopped) -> None:
    agent = fact.agent
    for frame in state.roots(agent):
        prune(state, frame.id)
    owner = state.agents[agent]
    owner.paused = owner.paused or not fact.idle
    owner.past = [dict(turn) for turn in fact.past]
    dropped = set(fact.dropped)
    for message in owner.queue:
        if message.id in dropped and message.ack_required:
            states.settle_message(state.acks, message.id, agent, has_it=False)
    note_taken_words(state, [message for message in owner.queue if message.id in dropped])
    leave_mailbox(owner, dropped)
    if owner.participant is not None:
        owner.stops += 1
    owner.queue = [message for message in owner.queue if message.id not in dropped]
    for meeting in state.meetings.values():
        meeting.joined = [who for who in meeting.joined if who != agent]
        if meeting.host == agent:
            meeting.status = "ended"


@rule(facts.FrameParked)
def _park(state: SessionState, _: int, fact: facts.FrameParked) -> None:
    state.frames[fact.frame].waits_for = None if fact.waits is None else dict(fact.waits)


@rule(facts.FrameSteered)
def _steer(state: SessionState, _: int, fact: facts.FrameSteered) -> None:
    frame = state.frames[fact.frame]
    agent, before = state.agents[frame.agent], state.agents[frame.agent].person
    taken = take_messages(state, frame.agent, fact.messages)
    waited(state, frame)
    agent.crowd = agent.crowd or agent.person != before
    frame.inbox += taken
    states.keep_heard(frame, taken)
    frame.steered += fact.messages
    if fact.heard:
        frame.heard = f"{frame.heard}\n{fact.heard}".strip()


@rule(facts.TurnEnded)
def _turn(state: SessionState, _: int, fact: facts.TurnEnded) -> None:
    frame = state.frames[fact.frame]
    frame.turn += 1
    frame.unwaited = 0 if fact.waits is not None else frame.unwaited + 1
    if fact.said is not None:
        end_exchange(frame)
        frame.transcript.append({"heard": fact.heard or "", "said": fact.said})
    frame.args = frame.args if fact.args is None else list(fact.args)
    frame.kwargs = frame.kwargs if fact.kwargs is None else dict(fact.kwargs)
    frame.gave = fact.gave or ""
    frame.waits_for = None if fact.waits is None else dict(fact.waits)
    frame.records, frame.order, frame.statements, frame.turn_steps = {}, [], [], []
    frame.rejections, frame.inbox, frame.steered, frame.ending = [], [], [], None
    if fact.said is not None:
        frame.inbox += _asides(state, frame.agent)
    frame.base = dict(state.agents[frame.agent].variables)


@rule(facts.DescriptionFilled)
def _described(state: SessionState, _: int, fact: facts.DescriptionFilled) -> None:
    state.frames[fact.frame].description = fact.text


@rule(facts.VariableSet)
def _set(state: SessionState, _: int, fact: facts.VariableSet) -> None:
    frame = state.frames[fact.frame]
    state.agents[frame.agent].variables[fact.name] = fact.value
    state.fired[states.CallKey(frame.id, fact.pos)] = list(fact.fired)


@rule(facts.EffectIntended)
def _intent(state: SessionState, _: int, fact: facts.EffectIntended) -> None:
    state.intents[states.CallKey(fact.frame, fact.pos)] = states.IntentState(fact.name, fact.digest, fact.effect)


@rule(facts.WaitBegun)
def _wait(state: SessionState, seq: int, fact: facts.WaitBegun) -> None:
    source = None if fact.source is None else dict(fact.source)
    state.waits[states.CallKey(fact.frame, fact.pos)] = states.WaitState(
        fact.frame, fact.pos, fact.name, fact.digest, source, fact.due, seq, state.at_s
    )


@rule(facts.WaitEnded)
def _took(state: SessionState, _: int, fact: facts.WaitEnded) -> None:
    frame = state.frames[fact.frame]
    taken = take_messages(state, frame.agent, fact.messages)
    states.keep_heard(frame, taken)
    wait = state.waits.get(states.CallKey(frame.id, fact.pos))
    if taken or wait is None or wait.lasts:
        waited(state, frame)
    end_chain(state, wait)
    if fact.pos == TURN:
        state.waits.pop(states.CallKey(frame.id, TURN), None)
        frame.inbox += [*_asides(state, frame.agent), *taken]
        frame.waits_for = None
        if fact.heard is not None:
            hear(frame, fact.heard, fact.notes, fact.said)
            frame.inbox = list(taken)
        if fact.kept_at is not None:
            _record(state, 0, facts.CallReturned(frame.id, fact.kept_at, "Hear", "", fact.value))
        return
    if fact.asides:
        _asides(state, frame.agent)
    if fact.cue:
        state.meetings[fact.cue].cue = None
    name, digest = fact.name or "", fact.digest or ""
    _record(state, 0, facts.CallReturned(frame.id, fact.pos, name, digest, fact.value))


@rule(facts.QuestionAsked)
def _ask(state: SessionState, _: int, fact: facts.QuestionAsked) -> None:
    """Messages from before a question do not answer it: the next wait hears them."""
    page, frame = state.pages[fact.page], state.frames[fact.frame]
    agent = state.agents[frame.agent]
    agent.queue[:] = [replace(message, aside=True) if message.from_human else message for message in agent.queue]
    states.keep_said(frame, agent.klass, fact.text)
    question = state.questions[states.CallKey(fact.frame, fact.pos)] = QuestionState(
        fact.frame, page.id, fact.text, list(fact.options), fact.of, page.reply_to, place=page.place
    )
    question.each = dict(fact.each)


@rule(facts.QuestionAnswered)
def _answered(state: SessionState, _: int, fact: facts.QuestionAnswered) -> None:
    key = states.CallKey(fact.frame, fact.pos)
    question, wait, frame = state.questions[key], state.waits[key], state.frames[fact.frame]
    states.keep_heard(frame, take_messages(state, frame.agent, fact.messages))
    question.answers[fact.who] = fact.text
    left = [person for name, person in question.each.items() if name not in question.answers]
    wait.source = {**(wait.source or {}), "people": left}


def _record_said(state: SessionState, fact: PageFinished | PageHeld) -> None:
    """The page's text is what a call has said."""
    if fact.frame is None or fact.pos is None:
        return
    name, digest = fact.name or "", fact.digest or ""
    _record(state, 0, facts.CallReturned(fact.frame, fact.pos, name, digest, fact.value, to=fact.to, text=fact.text))


@rule(PageFinished)
def _fin(state: SessionState, _: int, fact: PageFinished) -> None:
    page = state.pages[fact.page]
    page.status, page.text = "final", fact.text
    _record_said(state, fact)


@rule(PageHeld)
def _held(state: SessionState, _: int, fact: PageHeld) -> None:
    page = state.pages[fact.page]
    page.text = f"{page.text}\n\n{fact.text}" if page.status == "held" else fact.text
    page.status, page.due = "held", fact.due
    _record_said(state, fact)
