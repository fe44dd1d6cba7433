"""Facts about tasks: on the tape of who ordered one, and on that of the task itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.address import Address
from runtime.core.ids import ORDERER, AgentId, CounterpartId, SessionId
from runtime.tape.facts.content import ADDRESS, RAISED_AT, FactContent, fact, key
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import TaskStatus

# -- of the orderer


@fact("spawn")
class TaskOrdered(FactContent, frozen=True):
    """An agent orders a task: a public playbook of a class, executed in a session of its own.

    `task` derives from this session and the number of this fact. `due` is in seconds since the epoch. `scope` and
    `owner` say which memories it may recall.
    """

    agent: AgentId = key("agent")
    task: SessionId = key("task")
    klass: str = key("class")
    playbook: str = key("pb")
    arguments: Mapping[str, Any] = key("args")
    due: float = key("due")
    deliver: str = key("deliver")
    depth: int = key("depth")
    keep: bool = key("keep", default=False)
    scope: str = key("scope", default="")
    owner: str = key("owner", default="")


@fact("task_posted", session=True)
class TaskPosted(FactContent, frozen=True):
    """The inbox of a task has its "order" or its "cancel", or that of its place its "result"."""

    number: int = key("task")
    what: str = key("what")


@fact("task_cancel", session=True)
class TaskCancelled(FactContent, frozen=True):
    """A task is to end without a result."""

    number: int = key("task")


@fact("task_over", session=True)
class TaskOver(FactContent, frozen=True):
    """A task has ended; its facts `first` to `last` say how it came about. An `error` is of a type, and was raised at a
    place, where a playbook of it failed."""

    number: int = key("task")
    status: TaskStatus = key("status")
    value: Any = key("val", default=None)
    error: str | None = key("error", default=None)
    first: int = key("first", default=0, always=True)
    last: int = key("last", default=0, always=True)
    error_type: str = key("type", default="")
    raised_at: RaisedAt | None = key("where", default=None, form=RAISED_AT)


@fact("task_tell", session=True)
class ResultForPlace(FactContent, frozen=True):
    """The result of a task is to be told in the place that its order names."""

    number: int = key("task")


@fact("task_taken", session=True)
class ResultTaken(FactContent, frozen=True):
    """A call has had the result of a task."""

    number: int = key("task")


@fact("task_asks", session=True)
class TaskAsks(FactContent, frozen=True):
    """A task waits for people's answer to a question, or with `over` no longer. See `TaskQuestion`."""

    number: int = key("task")
    ask: str = key("ask")
    messages: Sequence[str] = key("pids", default=())
    people: Sequence[str] = key("of", default=())
    words: bool = key("words", default=False)
    over: bool = key("over", default=False)


@fact("task_answer", session=True)
class AnswerMeant(FactContent, frozen=True):
    """The words of the event `event` answer a question of a task, and nothing else."""

    number: int = key("task")
    event: str = key("event")
    ask: str = key("ask")


@fact("word_down")
class WordToTask(FactContent, frozen=True):
    """An agent tells a task something. `hops` words between tasks and their orderers have led to it, one after the
    other, itself included."""

    agent: AgentId = key("agent")
    number: int = key("task")
    text: str = key("text")
    hops: int = key("hops", default=1, always=True)

    @property
    def whom(self) -> CounterpartId:
        return CounterpartId(f"task {self.number}")


# -- of both


@fact("word_done", session=True)
class WordBrought(FactContent, frozen=True):
    """The inbox of whom it is for has the word of fact `seq`."""

    seq: int = key("seq")


@fact("word_heard", session=True)
class WordsHeard(FactContent, frozen=True):
    """The task of a number, 0 for the orderer, has taken the words up to that of fact `seq`."""

    number: int = key("task")
    seq: int = key("seq")


@fact("word_lost", session=True)
class WordLost(FactContent, frozen=True):
    """Nobody here hears the word of fact `seq` of the other end of a task: an agent's queue is full, or the agent is
    gone."""

    other: str = key("other")
    seq: int = key("seq")


@fact("word_told", session=True)
class HearingTold(FactContent, frozen=True):
    """The inbox of the other end of a task knows that its words up to `seq` were taken here."""

    other: str = key("other")
    seq: int = key("seq")


# -- of the task


@fact("word_up")
class WordToOrderer(FactContent, frozen=True):
    """An agent of a task tells its orderer something; see `WordToTask`."""

    agent: AgentId = key("agent")
    text: str = key("text")
    hops: int = key("hops", default=1, always=True)

    @property
    def whom(self) -> CounterpartId:
        return ORDERER


@fact("order", session=True)
class OrderTaken(FactContent, frozen=True):
    """The session is a task: number `number` of the session `orderer`, which ordered a playbook of a class. `root` is
    the first task of those that led to it, which may use `tokens` and `dollars` together. `event` is
    the type of the event on which it begins. `scope` and `owner` say which memories it may recall. `unheard`:
    its orderer does not hear of a failure. `hops` events of programs led to it, one after the other."""

    number: int = key("number")
    orderer: SessionId = key("orderer")
    home: Address = key("home", form=ADDRESS)
    place: Address = key("place", form=ADDRESS)
    due: float = key("due")
    depth: int = key("depth")
    klass: str = key("class", default="")
    playbook: str = key("pb", default="")
    root: str = key("root", default="")
    tokens: int = key("tokens", default=0)
    dollars: float = key("dollars", default=0.0)
    event: str = key("event", default="")
    scope: str = key("scope", default="")
    owner: str = key("owner", default="")
    unheard: bool = key("unheard", default=False)
    hops: int = key("hops", default=0)


@fact("order_begun", session=True)
class OrderBegun(FactContent, frozen=True):
    """The ordered playbook is executed by this frame."""

    frame: str = key("f")


@fact("order_over", session=True)
class OrderOver(FactContent, frozen=True):
    """The task has ended: with a value, or an error that says why not, its type, and the place where it was raised."""

    status: TaskStatus = key("status")
    value: Any = key("val", default=None)
    error: str | None = key("error", default=None)
    error_type: str = key("type", default="")
    raised_at: RaisedAt | None = key("where", default=None, form=RAISED_AT)


@fact("order_answered", session=True)
class OrderAnswered(FactContent, frozen=True):
    """The orderer's inbox has the result."""


@fact("order_asks", session=True)
class OrderAsks(FactContent, frozen=True):
    """The task waits for people's answer to a question, or with `over` no longer. See `TaskQuestion`."""

    ask: str = key("ask")
    messages: Sequence[str] = key("pids", default=())
    people: Sequence[str] = key("of", default=())
    words: bool = key("words", default=False)
    over: bool = key("over", default=False)


@fact("order_told", session=True)
class OrderTold(FactContent, frozen=True):
    """The orderer's inbox has what is to be told of a question."""

    ask: str = key("ask")
