"""The fold: one pure function from facts to state, used live and in recovery. Its rules are in `runtime.tape.rules`."""

from __future__ import annotations

from runtime.core.errors import Divergence
from runtime.core.ids import AgentId
from runtime.tape.facts.agents import (
    AgentCreated,
    AgentDismissed,
    AgentPaused,
    AgentRestarted,
    MessageQueued,
    MessagesDropped,
    ReminderRemoved,
    ReminderSet,
    VariablesAltered,
)
from runtime.tape.facts.content import Content
from runtime.tape.facts.registry import KINDS, content_of
from runtime.tape.facts.session import (
    ModelAnswered,
    NewsTold,
    ProgramAdopted,
    ProgramBroken,
    SessionBegun,
    SessionEnded,
    SessionLoaded,
)
from runtime.tape.rules import course, lineage, people, tasks, turns  # noqa: F401 - their rules
from runtime.tape.rules.frames import prune, take_messages
from runtime.tape.rules.meetings import close_meeting
from runtime.tape.rules.registry import RULES, rule
from runtime.tape.rules.tasks import cancel_task, note_taken_words
from runtime.tape.state.run import ReminderState
from runtime.tape.state.session import AgentState, SessionState
from runtime.tape.tape import Fact


def apply(state: SessionState, seq: int, content: Content, at_s: float = 0.0) -> None:
    """Make fact number `seq` true in `state`, at a time in seconds since the epoch.

    Raises Divergence for a fact that cannot follow.
    """
    if seq != state.seq + 1:
        raise Divergence(f"fact {seq} ({content.kind}) follows fact {state.seq}: the tape has a gap")
    state.at_s = at_s
    RULES[type(content)](state, seq, content)
    state.seq = seq


def apply_fact(state: SessionState, fact: Fact) -> None:
    """Make a stored fact true in `state`.

    Raises Divergence for one that cannot follow, or of a kind that is not known, LookupError for one without a key.
    """
    if fact.kind not in KINDS:
        raise Divergence(f"fact {fact.seq} is of the unknown kind {fact.kind!r}; was it written by a newer version?")
    apply(state, fact.seq, content_of(fact.kind, fact.data), fact.at.timestamp())


@rule(SessionLoaded)
def _wake(state: SessionState, _: int, __: SessionLoaded) -> None:
    state.broken = None


@rule(ProgramBroken)
def _broken(state: SessionState, _: int, fact: ProgramBroken) -> None:
    state.broken = fact.why


@rule(SessionBegun)
def _begin(state: SessionState, _: int, fact: SessionBegun) -> None:
    state.started = True
    state.program, state.playbooks, state.begun_in_private = fact.program, dict(fact.playbooks), fact.private


@rule(ProgramAdopted)
def _adopted(state: SessionState, _: int, fact: ProgramAdopted) -> None:
    state.program, state.playbooks = fact.program, dict(fact.playbooks)
    state.news = {kind: list(names) for kind, names in fact.news.items()}
    for frame, version in fact.versions.items():
        state.frames[frame].version = version
    for agent, begun in fact.begun.items():
        state.agents[AgentId(agent)].begun = begun


@rule(NewsTold)
def _told(state: SessionState, _: int, __: NewsTold) -> None:
    state.news = {}


@rule(ModelAnswered)
def _answered(state: SessionState, _: int, fact: ModelAnswered) -> None:
    state.answered_by[fact.purpose] = fact.model


@rule(SessionEnded)
def _ended(state: SessionState, _: int, __: SessionEnded) -> None:
    state.ended = True
    for frame in [f.id for f in state.frames.values() if f.caller is None]:
        prune(state, frame)
    for meeting in state.meetings.values():
        close_meeting(state, meeting, meeting.why)
    for task in state.tasks.values():
        if not task.keep:
            cancel_task(task)


@rule(AgentCreated)
def _agent(state: SessionState, _: int, fact: AgentCreated) -> None:
    agent = state.agents[fact.id] = AgentState(fact.id, fact.klass, dict(fact.variables))
    agent.person, agent.answering, agent.since = fact.person, fact.answering, state.at_s
    agent.participant = fact.participant
    state.made += 1


@rule(AgentDismissed)
def _dismissed(state: SessionState, _: int, fact: AgentDismissed) -> None:
    note_taken_words(state, state.agents.pop(fact.agent).queue)


@rule(AgentRestarted)
def _anew(state: SessionState, _: int, fact: AgentRestarted) -> None:
    agent = state.agents[fact.agent]
    take_messages(state, agent.id, fact.messages)
    agent.begun, agent.paused, agent.talk = 0, False, []
    agent.variables.update(fact.variables)


@rule(VariablesAltered)
def _altered(state: SessionState, _: int, fact: VariablesAltered) -> None:
    agent = state.agents[fact.agent]
    for name, value in fact.variables.items():
        agent.variables[name] = value
        agent.artifacts.pop(name, None)


@rule(AgentPaused)
def _paused(state: SessionState, _: int, fact: AgentPaused) -> None:
    state.agents[fact.agent].paused = True


@rule(MessageQueued)
def _in(state: SessionState, _: int, fact: MessageQueued) -> None:
    message = fact.message
    state.agents[fact.agent].queue.append(message)
    state.reminders.pop(message.id, None)


@rule(ReminderSet)
def _remind(state: SessionState, seq: int, fact: ReminderSet) -> None:
    state.reminders[f"remind.{seq}"] = ReminderState(fact.agent, fact.due, fact.text, fact.trigger)


@rule(ReminderRemoved)
def _unremind(state: SessionState, _: int, fact: ReminderRemoved) -> None:
    state.reminders.pop(fact.id, None)


@rule(MessagesDropped)
def _dropped(state: SessionState, _: int, fact: MessagesDropped) -> None:
    take_messages(state, fact.agent, fact.messages, read=False)
