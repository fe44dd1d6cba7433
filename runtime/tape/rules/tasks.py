"""The fold's rules about tasks, and about words between them and their orderers. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.core.address import CLIENT
from runtime.core.message import Message, MessageType
from runtime.tape.facts import tasks as facts
from runtime.tape.facts.registry import rule
from runtime.tape.state import tasks as states
from runtime.tape.state.frames import WaitState
from runtime.tape.state.session import SessionState

_PAUSE_S = 1.0
"""What is waited for so long ends a chain of words."""


@rule(facts.TaskOrdered)
def _ordered(state: SessionState, seq: int, fact: facts.TaskOrdered) -> None:
    state.ordered += 1
    task = states.TaskState(
        state.ordered,
        seq,
        fact.task,
        fact.agent,
        fact.klass,
        fact.playbook,
        dict(fact.arguments),
        since=state.at_s,
        due=fact.due,
        deliver=fact.deliver,
        keep=fact.keep,
        depth=fact.depth,
        scope=fact.scope,
        owner=fact.owner,
        to_post=["order"],
    )
    state.tasks[task.number] = task


@rule(facts.TaskPosted)
def _posted(state: SessionState, _: int, fact: facts.TaskPosted) -> None:
    task = state.tasks[fact.number]
    task.to_post = [what for what in task.to_post if what != fact.what]
    if fact.what == "order" and not task.over:
        task.status = "input_required" if task.asks else "working"


@rule(facts.TaskCancelled)
def _cancelled(state: SessionState, _: int, fact: facts.TaskCancelled) -> None:
    cancel_task(state.tasks[fact.number])


def cancel_task(task: states.TaskState) -> None:
    """A task is to hear that it is to end, if it has not."""
    if not task.over and "cancel" not in task.to_post:
        task.to_post = [*task.to_post, "cancel"]


@rule(facts.TaskOver)
def _over(state: SessionState, seq: int, fact: facts.TaskOver) -> None:
    task = state.tasks[fact.number]
    task.status, task.value, task.error = fact.status, fact.value, fact.error
    task.first, task.last, task.ended_by = fact.first, fact.last, seq
    task.error_type, task.raised_at = fact.error_type, fact.raised_at
    for ask in list(task.asks):
        _close(task, ask)
        _pass_on(state, ask, None)
    task.to_post, task.arguments, task.answers = [], {}, {}
    state.words = [word for word in state.words if word.number != task.number]
    over = [task.number for task in state.tasks.values() if task.over and not task.to_post]
    for number in over[: max(0, len(over) - states.MAX_KEPT_TASKS)]:
        if number != fact.number:
            del state.tasks[number]


@rule(facts.ResultForPlace)
def _for_place(state: SessionState, _: int, fact: facts.ResultForPlace) -> None:
    state.tasks[fact.number].to_post = ["result"]


@rule(facts.ResultTaken)
def _taken(state: SessionState, _: int, fact: facts.ResultTaken) -> None:
    state.tasks[fact.number].taken = True


@rule(facts.TaskAsks)
def _asks(state: SessionState, _: int, fact: facts.TaskAsks) -> None:
    task = state.tasks[fact.number]
    found = None if fact.over else states.TaskQuestion([*fact.messages], [*fact.people], fact.words)
    if found is None:
        _close(task, fact.ask)
    else:
        task.asks[fact.ask] = found
    task.answers = {event: ask for event, ask in task.answers.items() if ask in task.asks}
    if task.status in ("working", "input_required"):
        task.status = "input_required" if task.asks else "working"
    _pass_on(state, fact.ask, found)


@rule(facts.AnswerMeant)
def _meant(state: SessionState, _: int, fact: facts.AnswerMeant) -> None:
    state.tasks[fact.number].answers[fact.event] = fact.ask


def _close(task: states.TaskState, ask: str) -> None:
    """A question waits no longer; who answers it late is to be told."""
    question = task.asks.pop(ask, None)
    if question is not None:
        latest = [*task.closed.items(), (ask, question)]
        task.closed = dict(latest[-states.MAX_CLOSED_QUESTIONS :])


def _pass_on(state: SessionState, ask: str, question: states.TaskQuestion | None) -> None:
    """Where the session is a task, its orderer is to hear of a question as well; None is one that waits no longer."""
    if state.order is not None and not state.order.over:
        if question is None:
            state.order.asks.pop(ask, None)
        else:
            state.order.asks[ask] = question
        state.order.to_tell = [*state.order.to_tell, ask]


@rule(facts.OrderTaken)
def _order(state: SessionState, seq: int, fact: facts.OrderTaken) -> None:
    state.order = states.OrderState(fact.number, fact.orderer, fact.home, fact.place, fact.due, fact.depth, seq)
    state.order.root, state.order.tokens, state.order.dollars = fact.root, fact.tokens, fact.dollars
    state.order.event, state.order.scope, state.order.owner = fact.event, fact.scope, fact.owner
    state.order.unheard, state.order.hops = fact.unheard, fact.hops


@rule(facts.OrderBegun)
def _begun(state: SessionState, _: int, fact: facts.OrderBegun) -> None:
    if state.order is not None:
        state.order.frame = fact.frame


@rule(facts.OrderOver)
def _done(state: SessionState, _: int, fact: facts.OrderOver) -> None:
    if state.order is not None:
        state.order.status, state.order.value, state.order.error = fact.status, fact.value, fact.error
        state.order.error_type, state.order.raised_at = fact.error_type, fact.raised_at
        state.order.asks, state.order.to_tell = {}, []


@rule(facts.OrderAnswered)
def _answered(state: SessionState, _: int, __: facts.OrderAnswered) -> None:
    if state.order is not None:
        state.order.answered = True


@rule(facts.OrderAsks)
def _asking(state: SessionState, _: int, fact: facts.OrderAsks) -> None:
    _pass_on(state, fact.ask, None if fact.over else states.TaskQuestion([*fact.messages], [*fact.people], fact.words))


@rule(facts.OrderTold)
def _told(state: SessionState, _: int, fact: facts.OrderTold) -> None:
    if state.order is not None and fact.ask in state.order.to_tell:
        to_tell = [*state.order.to_tell]
        to_tell.remove(fact.ask)
        state.order.to_tell = to_tell


def note_taken_words(state: SessionState, messages: Sequence[Message]) -> None:
    """Words among the messages that leave a queue go on with their chain, and who said them is to know that they wait
    no longer. A person ends the chain, and a time that comes."""
    for message in messages:
        if message.hops is not None:
            state.hops[str(message.sender_id)] = message.hops
            take_word(state, str(message.sender_id), seq_of(message))
    if any(message.from_human or message.type in (MessageType.REMINDER, MessageType.TRIGGER) for message in messages):
        state.hops = {}


def take_word(state: SessionState, other: str, seq: int) -> None:
    """The other end of a task, by its name, is to know that its words up to this fact wait no longer."""
    state.words_taken[other] = max(seq, state.words_taken.get(other, 0))


def seq_of(word: Message) -> int:
    """The number of the fact of a word on the tape of who said it."""
    return int(word.id.rpartition(".")[2])


def end_chain(state: SessionState, wait: WaitState | None) -> None:
    """A wait has ended: one for a time ends the chain."""
    if wait is not None and wait.source is None and state.at_s - wait.since >= _PAUSE_S:
        state.hops = {}


@rule(facts.WordToTask)
def _word_down(state: SessionState, seq: int, fact: facts.WordToTask) -> None:
    _add_word(state, seq, fact, fact.number)


@rule(facts.WordToOrderer)
def _word_up(state: SessionState, seq: int, fact: facts.WordToOrderer) -> None:
    """A client sees the fact itself."""
    if state.order is not None and state.order.home.platform != CLIENT:
        _add_word(state, seq, fact, 0)


def _add_word(state: SessionState, seq: int, fact: facts.WordToTask | facts.WordToOrderer, number: int) -> None:
    klass = state.agents[fact.agent].klass
    state.words = [*state.words, states.WordState(seq, state.at_s, klass, number, fact.text, fact.hops)]


@rule(facts.WordBrought)
def _brought(state: SessionState, _: int, fact: facts.WordBrought) -> None:
    for word in state.words:
        if word.seq == fact.seq:
            word.brought, word.text = True, ""
    state.words = [word for word in state.words if not (word.brought and word.heard)]


@rule(facts.WordsHeard)
def _words_heard(state: SessionState, _: int, fact: facts.WordsHeard) -> None:
    """One that is still to be brought stays until it is: what was heard may be another, of before an `/undo`."""
    for word in state.words:
        word.heard = word.heard or (word.number == fact.number and word.seq <= fact.seq)
    state.words = [word for word in state.words if not (word.brought and word.heard)]


@rule(facts.WordLost)
def _lost(state: SessionState, _: int, fact: facts.WordLost) -> None:
    take_word(state, fact.other, fact.seq)


@rule(facts.HearingTold)
def _hearing_told(state: SessionState, _: int, fact: facts.HearingTold) -> None:
    if state.words_taken.get(fact.other) == fact.seq:
        del state.words_taken[fact.other]
