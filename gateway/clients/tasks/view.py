"""A task as the client that ordered it sees it: how far it is, what it says and asks, and how it ends."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import QuestionAsked, QuestionAskedAgain
from runtime.tape.facts.people import MessageHeard, PageBegun, PageClosed, PageFinished, PageGrew
from runtime.tape.facts.registry import KINDS
from runtime.tape.facts.session import SessionEnded
from runtime.tape.facts.tasks import OrderAsks, OrderOver, OrderTaken, TaskAsks, TaskOrdered, TaskOver, WordToOrderer
from runtime.tape.state.tasks import WORKING, TaskStatus
from runtime.tape.tape import Fact, TapeStore

MAX_SAID = 1_000
"""The latest utterances of a task that a client sees; the tape has all."""

_KEPT = 256
"""Tasks whose views are kept, so that looking again reads only what is new."""

_NO_SPEECH = frozenset({"ask", "file", "notice"})
"""Pages that are no utterances of an agent."""


class TaskUtterance(Struct, frozen=True):
    """An utterance of a task, or of its client (`own` is False). `seq` is the number of its fact, `id` the client's own
    name for its message, and `page` the number of what the task says among all its facts."""

    seq: int
    at: datetime
    text: str
    own: bool
    id: str = ""
    page: str = ""


class QuestionOfTask(Struct, frozen=True):
    """A question that waits for an answer. `ask` is its id. `asker` is the task of the task that asks, None for the
    task itself."""

    ask: str
    text: str = ""
    options: tuple[str, ...] = ()
    asker: SessionId | None = None

    @property
    def page(self) -> str:
        """The page of the question, in the session that asks."""
        return self.ask.partition(".")[2]

    def data(self) -> dict[str, Any]:
        return {"ask": self.ask, "text": self.text, "options": list(self.options)}


class TaskView(Struct):
    """A task as its facts up to number `seq` tell it. `home` is the address of who ordered it."""

    seq: int = 0
    status: TaskStatus = "submitted"
    changed_at: datetime | None = None
    value: Any = None
    error: str | None = None
    error_type: str = ""
    raised_at: str = ""
    home: Address | None = None
    said: list[TaskUtterance] = field(default_factory=list)
    asks: dict[str, QuestionOfTask] = field(default_factory=dict)
    """The open questions, by their ids, the oldest first."""
    pages: dict[str, QuestionOfTask] = field(default_factory=dict)
    """Every question that it has asked itself, by its page."""
    calls: dict[tuple[str, str], str] = field(default_factory=dict)
    """Those pages, by the calls that asked."""
    speech: set[str] = field(default_factory=set)
    """The pages on which something is being said."""
    growing: dict[str, str] = field(default_factory=dict)
    """What is being said, as far as it is written, by its page."""
    ordered: list[SessionId] = field(default_factory=list)
    """The tasks that it has ordered, in the order of their numbers."""

    @property
    def over(self) -> bool:
        return self.status not in WORKING

    def copy(self) -> TaskView:
        """The same view, which goes on by itself."""
        return replace(self, **{name: copy(getattr(self, name)) for name in self.__struct_fields__})

    def tell(self, said: TaskUtterance) -> None:
        self.said = [*self.said[-MAX_SAID + 1 :], said]

    def note(self, fact: Fact) -> None:
        """Take in the next fact; one that was taken in changes nothing."""
        if fact.seq <= self.seq:
            return
        self.seq, before = fact.seq, self.status
        kind = KINDS.get(fact.kind)
        take = None if kind is None else _TAKES.get(kind)
        if kind is not None and take is not None:
            take(self, fact, kind.read(fact.data))
        if self.status in ("working", "input_required"):
            self.status = "input_required" if self.asks else "working"
        if self.status != before:
            self.changed_at = fact.at


def _taken(view: TaskView, _: Fact, content: OrderTaken) -> None:
    view.home, view.status = content.home, "working"


def _over(view: TaskView, _: Fact, content: OrderOver) -> None:
    view.status, view.value, view.error = content.status, content.value, content.error
    view.error_type, view.raised_at = content.error_type, str(content.raised_at or "")
    view.asks, view.growing = {}, {}


def _ended(view: TaskView, _: Fact, __: SessionEnded) -> None:
    if not view.over:  # its program has ended by itself
        view.status, view.asks = "completed", {}


def _begun(view: TaskView, fact: Fact, content: PageBegun) -> None:
    if content.agent and content.to not in _NO_SPEECH:
        view.speech.add(str(fact.seq))


def _grew(view: TaskView, _: Fact, content: PageGrew) -> None:
    if content.page in view.speech:
        view.growing[content.page] = view.growing.get(content.page, "")[: content.at] + content.text


def _finished(view: TaskView, fact: Fact, content: PageFinished | PageClosed) -> None:
    if content.page in view.speech:
        view.speech.discard(content.page)
        view.growing.pop(content.page, None)
        view.tell(TaskUtterance(fact.seq, fact.at, content.text, own=True, page=content.page))


def _closed(view: TaskView, fact: Fact, content: PageClosed) -> None:
    """What was broken off was said as far as it was to be read."""
    if content.page in view.growing:
        _finished(view, fact, content)


def _told(view: TaskView, fact: Fact, content: WordToOrderer) -> None:
    view.tell(TaskUtterance(fact.seq, fact.at, content.text, own=True, page=str(fact.seq)))


def _heard(view: TaskView, fact: Fact, content: MessageHeard) -> None:
    whose = "" if view.home is None else f"in./clients/{view.home.conversation}."
    named = content.message.removeprefix(whose)
    view.tell(TaskUtterance(fact.seq, fact.at, content.text, own=False, id=named))


def _asked(view: TaskView, _: Fact, content: QuestionAsked) -> None:
    view.pages[content.page] = QuestionOfTask("", content.text, tuple(content.options))
    view.calls[content.frame, content.pos] = content.page


def _asked_again(view: TaskView, _: Fact, content: QuestionAskedAgain) -> None:
    before = view.pages.pop(view.calls.get((content.frame, content.pos), ""), QuestionOfTask(""))
    view.pages[content.page] = before
    view.calls[content.frame, content.pos] = content.page


def _asks(view: TaskView, _: Fact, content: OrderAsks) -> None:
    if content.over:
        view.asks.pop(content.ask, None)
    else:
        page = content.ask.partition(".")[2]
        view.asks[content.ask] = replace(view.pages.get(page, QuestionOfTask("")), ask=content.ask)


def _other_asks(view: TaskView, _: Fact, content: TaskAsks) -> None:
    if content.over:
        view.asks.pop(content.ask, None)
    elif 0 < content.number <= len(view.ordered):
        view.asks[content.ask] = QuestionOfTask(content.ask, asker=view.ordered[content.number - 1])


def _other_over(view: TaskView, _: Fact, content: TaskOver) -> None:
    if 0 < content.number <= len(view.ordered):
        asker = view.ordered[content.number - 1]
        view.asks = {ask: question for ask, question in view.asks.items() if question.asker != asker}


_TAKES: Mapping[type[FactContent], Callable[[TaskView, Fact, Any], None]] = {
    OrderTaken: _taken,
    OrderOver: _over,
    SessionEnded: _ended,
    PageBegun: _begun,
    PageGrew: _grew,
    PageFinished: _finished,
    PageClosed: _closed,
    MessageHeard: _heard,
    WordToOrderer: _told,
    QuestionAsked: _asked,
    QuestionAskedAgain: _asked_again,
    OrderAsks: _asks,
    TaskAsks: _other_asks,
    TaskOver: _other_over,
    TaskOrdered: lambda view, _, content: view.ordered.append(content.task),
}


class TaskViews:
    def __init__(self, tapes: TapeStore) -> None:
        self._tapes = tapes
        self._views: OrderedDict[SessionId, TaskView] = OrderedDict()

    async def view(self, task: SessionId) -> TaskView:
        """A task as it is now, whose session exists. The view is the caller's own."""
        view = self._views.setdefault(task, TaskView())
        self._views.move_to_end(task)
        while len(self._views) > _KEPT:
            self._views.popitem(last=False)
        async for fact in self._tapes.read_session(task, after=view.seq):
            view.note(fact)
        return view.copy()

    async def question(self, asked: QuestionOfTask) -> QuestionOfTask:
        """An open question with its words, which are with the task that asks it."""
        found, asker = asked, asked.asker
        while asker is not None:  # each is a task of the one before
            below = (await self.view(asker)).asks.get(asked.ask)
            if below is None:
                break
            found, asker = below, below.asker
        return replace(found, ask=asked.ask)
