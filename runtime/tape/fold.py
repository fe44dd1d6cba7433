"""The fold: one pure function from facts to state, used live and in recovery. The rules about the session itself, its
agents and its lineage (exchanges, branches, forks) are here, the others in `runtime.tape.rules`.
"""

from __future__ import annotations

from msgspec.structs import replace

from runtime.core.address import SCRATCH
from runtime.core.errors import Divergence
from runtime.core.ids import AgentId
from runtime.tape.facts import session as facts
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import QuestionAskedAgain
from runtime.tape.facts.registry import KINDS, RULES, content_of, rule
from runtime.tape.rules import course  # noqa: F401 - its rules
from runtime.tape.rules.frames import prune, take_messages
from runtime.tape.rules.meetings import close_meeting
from runtime.tape.rules.people import MAX_ASIDES
from runtime.tape.rules.tasks import cancel_task, note_taken_words
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import MAX_EXCHANGES, ExchangeState, HomeState, ThreadState
from runtime.tape.state.session import AgentState, SessionState
from runtime.tape.state.tasks import ReminderState
from runtime.tape.tape import Fact

MAX_DURING = 50
"""Messages that are remembered as said during one exchange."""


def apply(state: SessionState, seq: int, content: FactContent, at_s: float = 0.0) -> None:
    """Make fact number `seq` true in `state`, at a time in seconds since the epoch.

    Raises Divergence for a fact that cannot follow.
    """
    if seq != state.seq + 1:
        raise Divergence(f"fact {seq} ({content.kind}) follows fact {state.seq}: the tape has a gap")
    state.at_s = at_s
    for holds in RULES[type(content)]:
        holds(state, seq, content)
    state.seq = seq


def apply_fact(state: SessionState, fact: Fact) -> None:
    """Make a stored fact true in `state`.

    Raises Divergence for one that cannot follow, or of a kind that is not known, LookupError for one without a key.
    """
    if fact.kind not in KINDS:
        raise Divergence(f"fact {fact.seq} is of the unknown kind {fact.kind!r}; was it written by a newer version?")
    apply(state, fact.seq, content_of(fact.kind, fact.data), fact.at.timestamp())


@rule(facts.SessionLoaded)
def _wake(state: SessionState, _: int, __: facts.SessionLoaded) -> None:
    state.broken = None


@rule(facts.ProgramBroken)
def _broken(state: SessionState, _: int, fact: facts.ProgramBroken) -> None:
    state.broken = fact.why


@rule(facts.SessionBegun)
def _begin(state: SessionState, _: int, fact: facts.SessionBegun) -> None:
    state.started = True
    state.program, state.playbooks, state.begun_in_private = fact.program, dict(fact.playbooks), fact.private


@rule(facts.ProgramAdopted)
def _adopted(state: SessionState, _: int, fact: facts.ProgramAdopted) -> None:
    state.program, state.playbooks = fact.program, dict(fact.playbooks)
    state.news = {kind: list(names) for kind, names in fact.news.items()}
    for frame, version in fact.versions.items():
        state.frames[frame].version = version
    for agent, begun in fact.begun.items():
        state.agents[AgentId(agent)].begun = begun


@rule(facts.NewsTold)
def _told(state: SessionState, _: int, __: facts.NewsTold) -> None:
    state.news = {}


@rule(facts.ModelAnswered)
def _answered(state: SessionState, _: int, fact: facts.ModelAnswered) -> None:
    state.answered_by[fact.purpose] = fact.model


@rule(facts.SessionEnded)
def _ended(state: SessionState, _: int, __: facts.SessionEnded) -> None:
    state.ended = True
    for frame in [f.id for f in state.frames.values() if f.caller is None]:
        prune(state, frame)
    for meeting in state.meetings.values():
        close_meeting(state, meeting, meeting.why)
    for task in state.tasks.values():
        if not task.keep:
            cancel_task(task)


@rule(facts.AgentCreated)
def _agent(state: SessionState, _: int, fact: facts.AgentCreated) -> None:
    agent = state.agents[fact.id] = AgentState(fact.id, fact.klass, dict(fact.variables))
    agent.person, agent.answering, agent.since = fact.person, fact.answering, state.at_s
    agent.participant = fact.participant
    state.made += 1


@rule(facts.AgentDismissed)
def _dismissed(state: SessionState, _: int, fact: facts.AgentDismissed) -> None:
    note_taken_words(state, state.agents.pop(fact.agent).queue)


@rule(facts.AgentRestarted)
def _anew(state: SessionState, _: int, fact: facts.AgentRestarted) -> None:
    agent = state.agents[fact.agent]
    take_messages(state, agent.id, fact.messages)
    agent.begun, agent.paused, agent.talk = 0, False, []
    agent.variables.update(fact.variables)


@rule(facts.VariablesAltered)
def _altered(state: SessionState, _: int, fact: facts.VariablesAltered) -> None:
    agent = state.agents[fact.agent]
    for name, value in fact.variables.items():
        agent.variables[name] = value
        agent.artifacts.pop(name, None)


@rule(facts.AgentPaused)
def _paused(state: SessionState, _: int, fact: facts.AgentPaused) -> None:
    state.agents[fact.agent].paused = True


@rule(facts.MessageQueued)
def _in(state: SessionState, _: int, fact: facts.MessageQueued) -> None:
    message = fact.message
    state.agents[fact.agent].queue.append(message)
    state.reminders.pop(message.id, None)


@rule(facts.ReminderSet)
def _remind(state: SessionState, seq: int, fact: facts.ReminderSet) -> None:
    state.reminders[f"remind.{seq}"] = ReminderState(fact.agent, fact.due, fact.text, fact.trigger)


@rule(facts.ReminderRemoved)
def _unremind(state: SessionState, _: int, fact: facts.ReminderRemoved) -> None:
    state.reminders.pop(fact.id, None)


@rule(facts.MessagesDropped)
def _dropped(state: SessionState, _: int, fact: facts.MessagesDropped) -> None:
    take_messages(state, fact.agent, fact.messages, read=False)


@rule(facts.SessionBranched)
def _branch(state: SessionState, seq: int, fact: facts.SessionBranched) -> None:
    """Leave to the other session what it was about to show; ask again what can be asked again. What it heard in another
    place is not to be marked in this one."""
    state.pages, state.closed, state.marks, state.threads = {}, {}, {}, {}
    state.words, state.words_taken = [], {}
    state.broken, state.failures = None, []
    kept = [part.branched(fact.why) for part in state.parts.values()]
    state.parts = {part.name: part for part in kept if part is not None}
    if state.order is not None:
        state.order.scope = state.order.owner = ""  # whoever is here, no order was given here
    home = fact.home
    if home is not None:
        state.home = HomeState(home.platform, home.conversation, home.thread, seq)
    if fact.why == SCRATCH:
        state.home = None  # what comes of it is for nobody
    if fact.why in facts.COPIES:
        state.exchanges = [replace(exchange, message=None, also=[]) for exchange in state.exchanges]
        _hold_meetings_here(state)
        _leave_tasks_there(state)
    for question in state.questions.values():
        question.parts, question.reply_to = {}, None
    for agent in state.agents.values():
        agent.posted = []  # a mailbox knows messages by their sessions


def _hold_meetings_here(state: SessionState) -> None:
    """The places of meetings stay with the session that opened them."""
    state.written_at = {}
    for meeting in state.meetings.values():
        meeting.place = meeting.left = None
    for question in state.questions.values():
        question.place = None


def _leave_tasks_there(state: SessionState) -> None:
    """The results of tasks go to who ordered them, and not to a copy of it."""
    for task in state.tasks_at_work():
        task.status, task.error, task.to_post = "canceled", "it went on in the conversation that was copied", []
        task.asks, task.answers = {}, {}


@rule(facts.ExchangeBegun)
def _exchange(state: SessionState, _: int, fact: facts.ExchangeBegun) -> None:
    exchange = ExchangeState(fact.seq, fact.person, fact.name, fact.text, fact.platform_id)
    state.exchanges = [*state.exchanges, exchange][-MAX_EXCHANGES:]


@rule(facts.ExchangeJoined)
def _during(state: SessionState, _: int, fact: facts.ExchangeJoined) -> None:
    exchange = state.exchanges[-1]
    exchange.also = [*exchange.also, fact.platform_id][-MAX_DURING:]


@rule(facts.ThreadOpened)
def _thread(state: SessionState, _: int, fact: facts.ThreadOpened) -> None:
    state.threads[fact.event] = ThreadState(fact.platform, fact.conversation, fact.thread, fact.seq)


@rule(facts.ForkSettled)
def _forked(state: SessionState, _: int, fact: facts.ForkSettled) -> None:
    state.threads.pop(fact.event, None)


@rule(QuestionAskedAgain)
def _reask(state: SessionState, _: int, fact: QuestionAskedAgain) -> None:
    key = CallKey(fact.frame, fact.pos)
    question, wait = state.questions[key], state.waits.get(key)
    question.page, question.parts = fact.page, {}
    if fact.page in state.pages:
        question.place = state.pages[fact.page].place
    if wait is not None:  # for whether somebody joins a meeting no call waits
        wait.source = {**(wait.source or {}), "ask": question.page}


@rule(facts.ForkMerged)
def _merged(state: SessionState, _: int, fact: facts.ForkMerged) -> None:
    """The result of another session, as one message; facts `first` to `last` of that session say how it came about."""
    asides = state.agents[fact.agent].asides
    asides.append(fact.message)
    del asides[:-MAX_ASIDES]


@rule(facts.ResultReturned)
def _returned(state: SessionState, _: int, __: facts.ResultReturned) -> None:
    state.home = None
