"""The places at which a feature takes part in a node and in its sessions. A feature overrides what it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.agents.registry import AgentRegistry, MessageDispatcher
from runtime.channels.channel import ChannelRegistry
from runtime.channels.mailbox import SeatMailboxes
from runtime.channels.participant import Participant
from runtime.core.address import Address
from runtime.core.background import OnDemand
from runtime.core.texts import Texts
from runtime.execution.calls.builtins import BuiltinCalls
from runtime.execution.calls.reminders import SessionReminders, ZoneOf
from runtime.execution.calls.remote import ExtensionCall, RemoteTools
from runtime.execution.execution_context import Told
from runtime.execution.frames.frame import ExecutablePlaybook
from runtime.execution.prompt.with_files import FileContents
from runtime.execution.speech.pages import SessionPages
from runtime.language.program import Program
from runtime.sessions.succession import SessionSuccession
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.journal import Journal

if TYPE_CHECKING:
    from runtime.sessions.node_context import NodeContext


class SessionParts(Struct, frozen=True):
    """The parts of a session that features build on."""

    record: SessionRecord
    program: Program
    journal: Journal
    tasks: TaskGroup
    around: NodeContext
    """What all sessions of the node share."""
    inbox: Inbox
    pages: SessionPages
    reminders: SessionReminders
    builtins: BuiltinCalls
    agents: AgentRegistry
    dispatcher: MessageDispatcher
    find: Callable[[str, str], ExecutablePlaybook | None]
    """The playbook of a class, by their names, as it is executed."""
    broken: Callable[[], str | None]
    """Why the program cannot go on; None where it can."""


class SessionPart:
    """What a feature does in one session."""

    calls: Sequence[object] = ()
    """Objects with built-in calls, declared by `@call`."""
    commands: Mapping[str, Callable[[InboxEvent], Awaitable[None]]] = {}
    """What carries out its commands, by their kinds."""
    listeners: Sequence[Callable[[Any], object]] = ()
    """What hears facts when they are noted."""
    kinds: Collection[str] = frozenset()
    """The kinds of events that are for it, and for no agent."""
    told: Told | None = None
    """What a model is told of it."""
    contents: FileContents | None = None
    """The files that models and programs are given."""

    def __init__(self, parts: SessionParts) -> None:
        self._record, self._program, self._journal = parts.record, parts.program, parts.journal
        self._around, self._inbox, self._pages = parts.around, parts.inbox, parts.pages

    async def may_ask(self, _person: str | None, /) -> str | None:
        """Why no model may be asked for who caused it; None where the feature has nothing against it."""
        return None

    async def restored(self, succession: SessionSuccession | None, /) -> None:
        """The tapes were read; `succession` says how the session continues another."""

    def start(self, tasks: TaskGroup) -> None:
        """The session has its state: what goes on beside it goes on in `tasks`."""

    async def all_posted(self) -> None:
        """Return when others have what they are to have. Needs `start`."""

    async def settled(self) -> None:
        """Do what is left to do in a session whose work is over. It may have ended."""

    async def prepare(self, event: InboxEvent, /) -> InboxEvent:
        """An event made ready before the session takes it. Raises StorageError: then it is made ready again."""
        return event

    async def turned_away(self, _event: InboxEvent, /) -> bool | None:
        """Whether what was done in another place is no business of the session; then it was answered there. None for
        what was done elsewhere."""
        return None

    async def concerns(self, event: InboxEvent, /) -> bool:
        """Whether an event is for it, and for no agent. Does what a crash must find done once it is consumed."""
        return event.kind in self.kinds

    async def take_own(self, event: InboxEvent, /) -> None:
        """Take an event that concerns it, in the commit that takes it."""

    def stopped(self) -> bool:
        """Stop what it has done in the background; whether there was anything."""
        return False

    def take(self, event: InboxEvent, /) -> None:
        """Note what belongs into the commit that takes an event, as it was made ready."""

    def undoing(self, after: int, /) -> None:
        """Take back what came after a fact: another session goes on from there."""

    async def close(self) -> None:
        """The session ends, or another goes on in its place."""


class PostingPart(SessionPart):
    """A part that brings to others what they are to have, once it is on the tape. It does so after `start`."""

    def __init__(self, parts: SessionParts) -> None:
        super().__init__(parts)
        self._posting = OnDemand(self._post)

    def start(self, tasks: TaskGroup) -> None:
        self._posting.start(tasks)
        self._posting.wake()

    async def all_posted(self) -> None:
        await self._posting.until(lambda: not self._owed())

    def _owed(self) -> object:
        """What is still to be brought; nothing that is true where there is none."""
        raise NotImplementedError

    async def _post(self) -> None:
        """Bring all of it."""
        raise NotImplementedError


class NodePart:
    """What a feature does in a process that serves conversations."""

    programs: Mapping[str, Program] = {}
    """Programs of its own, by name, which it alone orders."""
    tools: RemoteTools | None = None
    """Those of remote agents, where it reaches their servers."""
    places: Mapping[str, Address] = {}
    """The conversations that may be told what came of work, by the names that programs use."""
    mailboxes: SeatMailboxes | None = None
    """What waits for agents in other processes, where it has that."""
    outside: Mapping[str, ExtensionCall] = {}
    """Calls of these programs that are outside effects, by name."""

    @property
    def alone(self) -> NodePart | None:
        """What stands for it in sessions that keep nothing anywhere else; None where its calls are not possible."""
        return None

    def guests(self, _channels: ChannelRegistry, _journal: Journal, /) -> Mapping[str, Participant]:
        """Participants of its own in a session, by name; from now on it follows the channels."""
        return {}

    async def gained(self, lease: Lease, /) -> None:
        """A shard is ours now."""

    def lost(self, shard: int, /) -> None:
        """A shard is another node's now."""

    async def committing(self, commit: Commit, /) -> None:
        """A session is about to commit. Raises StorageUnavailable: then it does not."""

    async def committed(self, commit: Commit, /) -> None:
        """A session has committed."""

    def zone_of(self, _conversation: Address, /) -> ZoneOf | None:
        """The time zone of a conversation, where it knows that."""
        return None

    def session(self, parts: SessionParts, /) -> SessionPart:
        return SessionPart(parts)

    def objection(self, _event: InboxEvent, /) -> str:
        """Why an event that was taken in may no longer begin what it asks for; "" where it may."""
        return ""

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """The answer to a command in a conversation where no session lives, and for whom alone it is; None for what is
        no command of the feature. Raises LeaseLost: then the next node answers."""
        return None

    async def put_aside(self, event: InboxEvent, record: SessionRecord, cause: str, /) -> None:
        """An event will never be taken, since it made sessions fail; `record` is of the last one that tried. `cause`
        begins with the type of the error. Raises StorageUnavailable."""


class InSessions(NodePart):
    """A feature that is nothing but what it does in each session: what `session` makes, and `alone` in sessions that
    keep nothing anywhere else."""

    def __init__(
        self, session: Callable[[SessionParts], SessionPart], alone: Callable[[SessionParts], SessionPart] | None = None
    ) -> None:
        self._session = session
        self._alone = alone

    @property
    def alone(self) -> NodePart | None:
        return None if self._alone is None else InSessions(self._alone, self._alone)

    def session(self, parts: SessionParts, /) -> SessionPart:
        return self._session(parts)


def alone(parts: Iterable[NodePart]) -> list[NodePart]:
    """What stands for these parts in sessions that keep nothing anywhere else."""
    return [one for part in parts if (one := part.alone) is not None]
