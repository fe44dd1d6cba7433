"""The port for what people do: exactly the events that no session has taken yet, shard by shard; and those that could
not be processed, until somebody replays or drops them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.address import Address, platform_in
from runtime.core.clock import Clock
from runtime.core.errors import ConversationFull, InboxFull
from runtime.core.ids import PersonId, person_id
from runtime.core.message import SpokenMessage
from runtime.core.plain_text import whole_number
from runtime.core.quote import Quote
from runtime.stores.sessions import SHARDS

NOTICE = "notice"
"""The kind of an event that no session takes: its text is said, with its attachments, each an `id` and a `label`, as
choices below."""

FORK = "fork"
"""The kind of an event that begins a session where another goes on from; `text` is what `Origin` writes."""

FORK_WANTED = "fork_wanted"
"""The kind of the command that asks for that."""

LOCKED = "locked"
"""The kind of an event that is encrypted and cannot be opened: its text says why, and it is put aside."""

MERGED = "merged"
"""The kind of the event that brings back what came of a fork.

`text` is what `runtime.sessions.commands.fork.ForkResult` writes."""

PARTICIPANT = "participant"
"""The kind of an event by which somebody in another process does something; `text` is what
`runtime.sessions.inbound.participants.SeatAct` writes."""


ANSWER = "answer"
"""The kind of an event by which somebody elsewhere answers a question of the session: `choice` is the id of one of its
choices, `text` the words. A question that is open no longer, or for somebody else, leaves it without effect."""

ALTERED = "altered"
"""The kind of an event that changes a variable of an agent in a scratch room; `text` is what
`runtime.sessions.commands.alter.VariableAlteration` writes."""

TASK = "task"
"""The kind of the event that begins a task; `text` is what `runtime.stores.orders.TaskOrder` writes."""

TASK_CANCEL = "task_cancel"
"""The kind of the event that ends a task; its text says why."""

TASK_OVER = "task_over"
"""The kind of the event that brings what came of a task to its orderer; `text` is what
`runtime.stores.orders.TaskResult` writes."""

TASK_ASKS = "task_asks"
"""The kind of the event that says that a task waits for people's answer, or no longer; `text` is what
`TaskAsking` writes."""

TASK_WORD = "task_word"
"""The kind of the event by which an agent says something to a task of its own, or a task to its orderer; `text` is what
`TaskWord` writes."""

TASK_HEARD = "task_heard"
"""The kind of the event that says that such words were taken; `text` is what
`TakenWords` writes."""

TASK_AGAIN = "task_again"
"""The kind of the event by which a session orders a task of its own again; `text` is what
`runtime.stores.orders.TaskAgain` writes."""

CROWDING = frozenset({"message", "edit", "deletion", "reaction", "choice"})
"""The kinds of events of which a limited number may wait in one conversation. Commands always may, a stop above all."""

CONVERSATION_BOUND = 200
"""The events of these kinds that may wait in one conversation."""

PERSON_BOUND = 300
"""The events of one person, or of one client, that may wait in a shard, in all conversations and of all kinds but a
stop."""


RETRY_S = 1.0
"""The pause before another try with a full inbox."""

REMARKS = "remarks"
CLAIMED = "claimed"
SECONDS = "seconds"
"""Keys of an attachment of an event whose files were read: what its sender is told of it, the type that its platform
has for it, and the length of a sound, by what its container says."""


class InboxEvent(Struct, frozen=True):
    """Something a person did in a conversation, or that we have to say there. `id` is the platform's own, for
    recognising a repetition.

    `kind`: "message", "edit", "deletion", "reaction" or "choice" (see `adapters.adapter.Inbound` for their `text`),
    or a command's name such as "new" and "stop" with its argument in `text`; "notice" is what we ourselves have to say
    there, whatever goes on; FORK, FORK_WANTED and LOCKED. `message_id` is the platform's id of the
    message that was said, changed, taken back, marked or answered. `choice` is the id of a choice, or the `Rating` by a
    reaction. `private` is False where others can read along.
    `program` names the program that begins if no session lives there; without one, "", none begins. `by_owner`: an
    owner did it; `by_guest`: somebody did who sees nothing of how programs work. `place` is where they did it, if that
    is a place of a meeting, or a thread below a question, and not `address` itself, in which the session lives.
    `spoken` is added by the session that takes it, where `text` has words of a recording. `looking_at` is what they
    have open in their client meanwhile, in words. `around` is what the message forwards or shares, and cards in it.
    `past` is added by the session that takes it.
    """

    id: str
    address: Address
    person_id: str
    person_name: str
    text: str
    sent_at: datetime
    kind: str = "message"
    attachments: tuple[Mapping[str, Any], ...] = ()
    message_id: str | None = None
    quote: Quote | None = None
    around: tuple[Quote, ...] = ()
    past: tuple[Quote, ...] = ()
    choice: str | None = None
    private: bool = True
    program: str = ""
    by_owner: bool = False
    by_guest: bool = False
    place: Address | None = None
    spoken: SpokenMessage | None = None
    looking_at: str = ""

    @property
    def asker(self) -> str:
        """Who is to be answered alone: the person, where others read along; "" where nobody else does."""
        return "" if self.private or platform_in(self.person_id) != self.address.platform else self.person_id

    @property
    def author(self) -> PersonId:
        """The person of the event, as sessions know them."""
        return person_id(self.person_id)


class InboxEntry(Struct, frozen=True):
    """An event at its place in a shard's inbox; ids grow within a shard."""

    shard: int
    entry_id: str
    event: InboxEvent


class KnownEvent(Struct, frozen=True):
    """An event that was taken in: the program that it may begin, "" for none, and whether it waits still."""

    program: str
    waits: bool


def shard_of(conversation: str) -> int:
    """The shard of a conversation's key."""
    return zlib.crc32(conversation.encode()) % SHARDS


def has_share(event: InboxEvent) -> bool:
    """Whether an event counts to the share of who sent it. Our own has nobody, and a stop always has room."""
    return bool(event.person_id) and event.kind not in ("stop", TASK_CANCEL)


def share_used(person: str, bound: int) -> InboxFull:
    """The error for an event too many of one person."""
    return InboxFull(f"{bound} events of {person} wait in one shard; another one was not accepted.")


def crowded(conversation: str, bound: int) -> ConversationFull:
    """The error for an event too many."""
    text = f"{bound} events wait in conversation {conversation}; another one was not accepted."
    return ConversationFull(text, bound=bound)


class Inbox(Protocol):
    """Raises InboxFull, or ConversationFull, or StorageUnavailable, and nothing else."""

    async def add(self, event: InboxEvent, /) -> bool:
        """Keep the event durably; False when an event of this id in this conversation was already taken in."""

    async def known(self, address: Address, event_id: str, /) -> KnownEvent | None:
        """An event that was taken in at an address, by its id; None for one that is forgotten."""

    async def read(self, after: Mapping[int, str], /, *, wait_s: float) -> Sequence[InboxEntry]:
        """Entries of the given shards behind the given entry ids ("0" = all), oldest first in each shard.

        A plain read: nothing is taken out. Returns as soon as some of the shards have something, and an empty sequence
        after `wait_s` without news.
        """

    async def still_waiting(self, entries: Sequence[InboxEntry], /) -> Sequence[InboxEntry]:
        """Those of the entries, all of one shard, that no commit has taken and nobody has put aside."""

    async def discard(self, entry: InboxEntry, token: int, /, *, reason: str) -> None:
        """Move an entry that no session takes to the shard's dead letters. Raises LeaseLost for a stale token."""

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        """Take out an entry that needed no session and was dealt with. Raises LeaseLost for a stale token."""


class DeadLetter(Struct, frozen=True):
    """An event that was set aside. `id` is `<shard>-<number>-<number>`; `died_at` is UTC; `entry_id` was its place in
    the inbox.
    """

    id: str
    event: InboxEvent
    entry_id: str
    reason: str
    died_at: datetime

    @property
    def shard(self) -> int:
        """The shard that it belongs to."""
        return letter_place(self.id)[0]


class DeadLetters(Protocol):
    """Raises LetterGone where it says so, InboxFull, StorageUnavailable, and nothing else."""

    async def page(self, after: str = "", /, *, limit: int) -> Sequence[DeadLetter]:
        """At most `limit` letters behind the one of id `after`, shard by shard, the oldest of each first.

        Fewer than `limit` are the last ones.
        """

    async def get(self, letter: str, /) -> DeadLetter | None: ...

    async def replay(self, letter: str, /) -> DeadLetter:
        """Put the event back into its shard's inbox, behind what waits there, to be processed once.

        The platform's own repetition of it is still recognised. Raises LetterGone when there is no such letter, also
        because it was replayed or dropped before; InboxFull leaves it where it is.
        """

    async def drop(self, letter: str, /) -> DeadLetter:
        """Delete the letter. Raises LetterGone if there is none."""


def letter_id(shard: int, number: str) -> str:
    """The id of a letter by its shard and its place there."""
    return f"{shard}-{number}"


def letter_place(letter: str) -> tuple[int, str]:
    """The inverse of `letter_id`; (-1, "") for what is no id of a letter."""
    shard, _, number = letter.partition("-")
    which = whole_number(shard, SHARDS - 1)
    whole = all(part.isdecimal() for part in number.split("-")) and number.count("-") == 1
    return (which, number) if which is not None and whole else (-1, "")


class SessionCommand(Struct, frozen=True):
    """A command. `unanswered` is the text where there is no session; None for one that needs none.

    `whole`: it is about the session as a whole, and has to be given where that lives. `agents`: it needs agents who
    live.
    """

    kind: str
    unanswered: str | None = "session.nothing_runs"
    whole: bool = False
    agents: bool = False


_ALL = (
    SessionCommand("start", unanswered=None),
    SessionCommand("new", unanswered=None, whole=True),
    SessionCommand("stop", unanswered=None),
    SessionCommand("undo", "session.nothing_to_undo", whole=True),
    SessionCommand(FORK_WANTED, "session.nothing_to_fork", whole=True),
    *map(SessionCommand, ("status", "who", "iam", "agents", "tasks", "meeting")),
    SessionCommand("schedule", unanswered=None, whole=True),
    SessionCommand("invite", agents=True),
    SessionCommand("leave", agents=True),
)

SESSION_COMMANDS: Mapping[str, SessionCommand] = {command.kind: command for command in _ALL}


async def offer(event: InboxEvent, inbox: Inbox) -> bool:
    """Put an event into an inbox; False where that has no room now."""
    try:
        await inbox.add(event)
    except InboxFull:
        return False
    return True


async def bring(event: InboxEvent, inbox: Inbox, clock: Clock) -> None:
    """Put an event into an inbox, as soon as that has room."""
    while not await offer(event, inbox):
        await pause(clock)


async def pause(clock: Clock) -> None:
    """Wait before another try with a full inbox."""
    await clock.sleep_until(clock.monotonic() + RETRY_S)
