"""The state of tasks: those that a session has ordered, and the one that it is itself; and of what else others are to
hear of: failures that nobody caught, published events, and reminders.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from runtime.core.address import Address
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.tape.state.frames import RaisedAt

TASK_LATE = "TaskLate"
TASK_LIMIT = "TaskLimit"
PROGRAM_BROKEN = "ProgramBroken"
BROKEN_OFF = frozenset({TASK_LATE, TASK_LIMIT, PROGRAM_BROKEN})
"""The types of errors that end a task from outside, and not one of its playbooks: its time was over, it used too much,
its program could not go on."""

TaskStatus = Literal["submitted", "working", "input_required", "completed", "failed", "canceled", "rejected"]
"""How far a task has come, in the words of A2A. The last four are ends."""

WORKING = frozenset({"submitted", "working", "input_required"})

MAX_KEPT_TASKS = 50
"""Tasks of one session that are over and whose results are remembered; the oldest are forgotten."""

MAX_CLOSED_QUESTIONS = 10
"""Questions of one task that wait no longer and are remembered."""

NOBODY = "nobody"
"""Who gets the result of a task that is ordered for its effects alone."""

CALLER = "caller"
"""Who gets the result by default: the agent that ordered it."""


class TaskQuestion(Struct):
    """A question that a task waits to have answered: the platform's ids of what people see of it, and the ids of those
    whose answer counts, none for anybody. `words`: it has no choices."""

    messages: list[str]
    people: list[str]
    words: bool


class TaskState(Struct):
    """A task that this session has ordered, by its number there.

    `agent` has ordered it; `deliver` is who gets the result: CALLER, NOBODY, or a place of the settings by its name.
    `due` is in seconds since the epoch. `to_post` is what its own inbox is still to get, "order" or "cancel", or the
    inbox of its place: "result".
    """

    number: int
    seq: int
    """The number of the fact that ordered it."""
    id: SessionId
    agent: AgentId
    klass: str
    playbook: str
    arguments: dict[str, Any]
    since: float
    due: float
    deliver: str = CALLER
    keep: bool = False
    depth: int = 1
    scope: str = ""
    owner: str = ""
    """Whose memories of which scope it may recall; see `OrderState`."""
    status: TaskStatus = "submitted"
    value: Any = None
    error: str | None = None
    error_type: str = ""
    raised_at: RaisedAt | None = None
    first: int = 0
    last: int = 0
    """Its facts, once it is over."""
    taken: bool = False
    """Whether a call has had the result."""
    ended_by: int = 0
    """The fact with which it ended; 0 while it has not."""
    heard: bool = False
    """Whether an agent has read of its end, or a report has it."""
    to_post: list[str] = field(default_factory=list)
    asks: dict[str, TaskQuestion] = field(default_factory=dict)
    """What it waits for people to answer, by the question's id."""
    closed: dict[str, TaskQuestion] = field(default_factory=dict)
    """The latest of those that it waits for no longer."""
    answers: dict[str, str] = field(default_factory=dict)
    """Events with people's words, by id, and the questions that they answer."""

    @property
    def over(self) -> bool:
        return self.status not in WORKING

    @property
    def unheard(self) -> bool:
        """Whether it has failed, and nobody has heard of that who was to. What a place or nobody gets, or what goes on
        after the conversation, the task itself reports."""
        own = self.deliver == CALLER and not self.keep and not (self.taken or self.heard)
        return own and self.status in ("failed", "rejected")

    @property
    def message(self) -> MessageId:
        """The id of the message by which an agent learns of a result that nobody waited for."""
        return MessageId(f"task.{self.id}")

    @property
    def name(self) -> str:
        """As programs call it."""
        return f"task {self.number}"


class WordState(Struct):
    """Something that an agent of `klass` tells the task of a number, or with the number 0 the orderer of the task that
    this session is, and that waits there or on the way. The agent may be gone by then. `seq` is its fact, `at_s` its
    time in seconds since the epoch. `brought`: their inbox has it; `heard`: they have taken it."""

    seq: int
    at_s: float
    klass: str
    number: int
    text: str
    hops: int
    brought: bool = False
    heard: bool = False


class OrderState(Struct):
    """The task that this session is: what was ordered, and what has come of it.

    `home` is the conversation of the orderer, which gets the result, `place` the one where people see what it says.
    `frame` is the playbook that was ordered, by its id. `answered`: the orderer has the result. The task `root` and all
    that come of it may use `tokens` and `dollars`, 0 for any number. `event` is the type of the client's event on which
    it began, "" for none.
    """

    number: int
    orderer: SessionId
    home: Address
    place: Address
    due: float
    depth: int
    first: int
    frame: str | None = None
    status: TaskStatus = "working"
    value: Any = None
    error: str | None = None
    error_type: str = ""
    raised_at: RaisedAt | None = None
    answered: bool = False
    root: str = ""
    tokens: int = 0
    dollars: float = 0.0
    event: str = ""
    scope: str = ""
    """The key of the scope whose memories it may recall, that of who ordered it; "" for none."""
    owner: str = ""
    """Whose words the order came of; "" for nobody's, or those of several people."""
    unheard: bool = False
    """Whether its orderer does not hear of a failure."""
    hops: int = 0
    """How many events of programs led to it, one after the other."""
    asks: dict[str, TaskQuestion] = field(default_factory=dict)
    """What it, or a task of it, waits for people to answer."""
    to_tell: list[str] = field(default_factory=list)
    """The questions of which the orderer is still to hear."""

    @property
    def over(self) -> bool:
        return self.status not in WORKING


class ReminderState(Struct):
    """An agent's reminder: its text and its time, in seconds since the epoch."""

    agent: AgentId
    due: float
    text: str
    trigger: str | None = None
    """The code of the trigger whose time it is."""


class FailureState(Struct):
    """A failure that is in no report yet. `seq` is the fact that says how; it was raised in this place of an agent's
    playbook."""

    seq: int
    error_type: str
    agent: str
    playbook: str
    step: str


class PublishedState(Struct):
    """An event on which other programs may still have to begin. `seq` is its fact, `at_s` its time in seconds since the
    epoch; `hops` events of programs led to it, itself included."""

    seq: int
    at_s: float
    agent: str
    type: str
    values: dict[str, Any]
    hops: int
