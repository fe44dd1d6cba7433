"""Writing rights of an isolated task's process: its own tape, and letters to those whom its task concerns.

The process executes code that is not trusted, so nothing that it says of itself is believed that the node cannot know
by itself: by the order, and by the task's own tape.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from gateway.isolation.node.approvals import Approvals
from runtime.core.address import Address
from runtime.core.errors import TaskRefused
from runtime.core.ids import SessionId
from runtime.execution.calls.tasks import task_id
from runtime.sessions.tasks.letters import Again, Asking, Order, Result, address_of
from runtime.stores.inbox import (
    NOTICE,
    TASK,
    TASK_AGAIN,
    TASK_ASKS,
    TASK_CANCEL,
    TASK_OVER,
    InboxEntry,
    InboxEvent,
)
from runtime.stores.sessions import SessionRecord, SessionStore
from runtime.tape.facts.content import ADDRESS
from runtime.tape.facts.pages import PageBegun
from runtime.tape.facts.people import FileReceived, PersonMet
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderTaken, TaskOrdered
from runtime.tape.tape import Fact

_FORWARDED = frozenset({"message", "choice"})
"""The kinds of people's answers, which a task passes on to one that it has ordered."""


@dataclass
class Rights:
    """The node's knowledge of one task, and the rights that its process has by it.

    `order` is what was ordered, `person` for whom, "" for nobody. `entries` are the events that the process was given,
    by id, `children` the tasks that the task has ordered.
    """

    session: SessionId
    program: str
    order: OrderTaken
    person: str
    places: Collection[Address] = ()
    """The conversations that may be told what comes of a task."""
    entries: dict[str, InboxEntry] = field(default_factory=dict)
    children: set[SessionId] = field(default_factory=set)
    approvals: Approvals = field(default_factory=Approvals)
    files: set[str] = field(default_factory=set)
    """The urls of the files that people gave to the task, and that it has sent."""
    _again: set[SessionId] = field(default_factory=set)

    @property
    def address(self) -> Address:
        """Where the task lives."""
        return address_of(self.session)

    def give(self, entry: InboxEntry) -> None:
        """The process is given an event of its task."""
        self.entries[entry.entry_id] = entry
        self.files.update(str(file["url"]) for file in entry.event.attachments)
        if entry.event.kind == TASK_AGAIN:
            self._again.add(Again.read(entry.event.text).task)

    def read(self, fact: Fact) -> None:
        """Learn from a fact of the task's tape, before it is written or after. Raises TaskRefused for one that no task
        writes."""
        taken, spawned = read_as(fact, OrderTaken), read_as(fact, TaskOrdered)
        if taken is not None and taken != self.order:
            raise TaskRefused("What was ordered is not what the order says.")
        if spawned is not None:
            if spawned.task not in {task_id(self.session, fact.seq), *self._again}:
                raise TaskRefused("The id of a task derives from the fact that orders it.")
            self.children.add(spawned.task)
        if not _files_of(fact) <= self.files:
            raise TaskRefused("A task has the files that it was given, and its own.")
        self.approvals.read(fact, self.entries.values())

    def check_beginning(self, begin: SessionRecord, facts: tuple[Fact, ...]) -> None:
        """Raise TaskRefused for a session that is not the one that was ordered."""
        met = [fact for fact in facts if fact.kind == PersonMet.kind]
        theirs = all(fact.data.get("id") == self.person for fact in met)
        if begin.address != self.address or begin.program != self.program or begin.parent is not None or not theirs:
            raise TaskRefused("Another session was ordered.")

    def check_letter(self, event: InboxEvent) -> None:
        """Raise TaskRefused for an event that the task has nobody to send to."""
        checks: dict[str, Callable[[InboxEvent], bool]] = {
            TASK: self._orders,
            TASK_CANCEL: self._is_to_child,
            TASK_OVER: self._is_own_result,
            TASK_ASKS: self._is_own_question,
            NOTICE: lambda notice: notice.address in self.places and notice.id.startswith("told."),
            **dict.fromkeys(_FORWARDED, self._passes_on),
        }
        check = checks.get(event.kind)
        try:
            fits = check is not None and check(event)
        except (ValueError, TypeError, LookupError):
            fits = False
        if not fits:
            raise TaskRefused(f"This task sends no {event.kind[:40]} to {event.address.key[:200]}.")

    def _is_to_child(self, event: InboxEvent) -> bool:
        return any(event.address == address_of(child) for child in self.children)

    def _passes_on(self, event: InboxEvent) -> bool:
        """Whether it is an answer that somebody gave, for a task that was ordered."""
        said = (event.id, event.kind, event.text, event.person_id, event.quote, event.attachments)
        given = [entry.event for entry in self.entries.values()]
        return self._is_to_child(event) and any(
            (one.id, one.kind, one.text, one.person_id, one.quote, one.attachments) == said
            and (one.choice is None or one.choice == event.choice)
            for one in given
        )

    def _orders(self, event: InboxEvent) -> bool:
        letter, own = Order.read(event.text), self.order
        ours = letter.orderer == self.session and ADDRESS.read(letter.home) == self.address
        limits = (letter.root, letter.tokens, letter.dollars, letter.isolation, letter.depth)
        return (
            ours
            and self._is_to_child(event)
            and event.id == event.address.conversation
            and ADDRESS.read(letter.place) == own.place
            and limits == (own.root, own.tokens, own.dollars, own.isolation, own.depth + 1)
            and letter.scope in {"", own.scope}
            and letter.owner in {"", own.owner}
            and event.program == self.program
            and event.person_id in {"", self.person, *(entry.event.person_id for entry in self.entries.values())}
        )

    def _is_own_result(self, event: InboxEvent) -> bool:
        letter = Result.read(event.text)
        whose = (letter.task, letter.number, letter.orderer) == (self.session, self.order.number, self.order.orderer)
        return whose and event.address == self.order.home and event.id == f"{TASK_OVER}.{self.session}"

    def _is_own_question(self, event: InboxEvent) -> bool:
        letter = Asking.read(event.text)
        whose = (letter.task, letter.number) == (self.session, self.order.number)
        return whose and event.address == self.order.home


def rights_by_order(entry: InboxEntry, program: str, places: Collection[Address]) -> Rights:
    """The rights of a task that has no tape yet. Raises ValueError or TypeError for an order that cannot be read."""
    event, letter = entry.event, Order.read(entry.event.text)
    session = SessionId(event.address.conversation)
    taken = OrderTaken(
        letter.number,
        letter.orderer,
        ADDRESS.read(letter.home),
        ADDRESS.read(letter.place),
        letter.due,
        letter.depth,
        letter.klass,
        letter.playbook,
        letter.root or session,
        letter.tokens,
        letter.dollars,
        letter.isolation,
        letter.event,
        letter.scope,
        letter.owner,
    )
    return Rights(session, program, taken, event.person_id, places)


async def rights_by_tape(store: SessionStore, record: SessionRecord, places: Collection[Address]) -> Rights | None:
    """The rights of a task that has begun; None for a session that is none."""
    person, rights = "", None
    async for fact in store.read_session(record.id):
        taken, met = read_as(fact, OrderTaken), read_as(fact, PersonMet)
        if met is not None and rights is None:
            person = str(met.id)
        if taken is not None and rights is None:
            rights = Rights(record.id, record.program, taken, person, places)
        elif rights is not None:
            spawned = read_as(fact, TaskOrdered)
            if spawned is not None:
                rights.children.add(spawned.task)
            rights.approvals.read(fact)
            rights.files |= _files_of(fact)
    return rights


def _files_of(fact: Fact) -> set[str]:
    """The urls of the files that a fact gives to a task: of one that it received, or that it sends."""
    begun = read_as(fact, PageBegun)
    file = read_as(fact, FileReceived) if begun is None else begun.file
    return set() if file is None else {file.url, *(part.url for part in file.parts)}
