"""The port of a chat platform. Policy reads capabilities and never asks a platform's name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from adapters.capabilities import Budget, Capabilities
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment, Choice, Mark, Quote

Act = Literal["message", "edit", "deletion", "reaction", "choice"]
"""The kind of a person's event: a message, an edit, a deletion, a reaction, a press of a choice."""


Call = Literal["send", "edit", "delete", "open_stream", "append", "close_stream", "typing", "offer", "upload", "react"]
"""A kind of call, for platforms that limit each method separately."""

NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""The exceptions of reading a payload in an unexpected form: it is ignored, with a line in the log."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Something a person did. `event_id` is unique within the platform and the same when it is delivered again.

    `person_id` is stable (`telegram:42`). `addressed` is False when people talk among themselves in a group: no
    mention, no reply to us, no command. `command` is a command's name without its slash; its argument is `text`.
    `text` of an edit is the new text, of a reaction the mark (empty when it was taken away), of a choice its label.
    Mentions of people stand in `text` as `@Name`.

    `message_id` is the platform's id of the message that was said, changed, taken back, marked or answered by a
    choice. `quote` is what the message replies to. `space` is the workspace or server it happened in, and `language`
    the person's (`de`, `pt-BR`), where the platform tells. `program` is asked for by name, `choice` is `Choice.id`:
    of the choice that was pressed, or of the free one that a message answers.
    `outsider`: the person does not belong to `space` and only shares a channel with it.
    """

    address: Address
    event_id: str
    person_id: str
    person_name: str
    text: str
    sent_at: datetime
    private: bool
    addressed: bool
    command: str | None = None
    attachments: tuple[Attachment, ...] = ()
    act: Act = "message"
    message_id: str | None = None
    quote: Quote | None = None
    space: str | None = None
    language: str | None = None
    program: str | None = None
    choice: str | None = None
    outsider: bool = False


Admits = Callable[[Inbound], Awaitable[str | None]]
"""Asked before anything is opened or posted for somebody: None where they may do it there, else what they are told.

May raise StorageUnavailable.
"""


async def everybody_may(_: Inbound) -> str | None:
    """The answer where nobody decides: yes."""
    return None


@dataclass(frozen=True, slots=True)
class File:
    """A file with its content."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request of a platform to us. Header names are in lower case; `path` is what follows `/hooks/<platform>`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer to an HTTP request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Adapter(Protocol):
    """A chat platform. Raises only AdapterError and its children; see each method for which."""

    @property
    def name(self) -> str:
        """The platform's name: `Address.platform` of everything it makes."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def connect(self) -> AbstractAsyncContextManager[AsyncIterator[Inbound]]:
        """People's events, in order.

        An item may be acknowledged to the platform only when the consumer asks for the next one: then it is durable.
        Reconnects on its own. Raises AuthFailed when the token is refused.
        """
        ...

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """The bucket that calls to this conversation draw from: its key (topics of one chat share one) and size."""
        ...

    async def check(self) -> str:
        """Whether the token is accepted: one line for a person. Raises AuthFailed or NotDelivered."""
        ...

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """Post `text` (CommonMark, within the limits) and return the platform's message id.

        `nonce` identifies the message: where `capabilities.idempotent_send`, sending it twice posts it once.
        Unless `final` the text is still growing. `reply_to` is the message that is answered; where that one is gone
        the text is posted all the same. A link `[@Name](person:<person_id>)` mentions a person in the platform's way;
        nothing else in `text` may ping anybody. Raises RateLimited, NotDelivered, OutcomeUncertain, BadMarkup, and
        ShownDiffers when a final text was answered with another text or another place.
        """
        ...


@runtime_checkable
class CountsByMethod(Protocol):
    """The platform limits each method separately, so that `budget` would be too coarse."""

    def draws(self, to: Address, call: Call, /, *, speaker: Speaker | None = None) -> Sequence[tuple[str, Budget]]:
        """The buckets (key, size) that a call of this kind draws from, instead of the conversation's and the bot's.

        `speaker` is who speaks, for platforms on which agents have buckets of their own.
        """
        ...


@runtime_checkable
class CanEdit(Protocol):
    """Messages can be changed after they were posted (`capabilities.edits`)."""

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """Replace the text. Idempotent. Raises as `send`, and MessageGone."""
        ...


@runtime_checkable
class CanRecover(Protocol):
    """A post whose outcome is unclear can be looked for, where `capabilities.idempotent_send` is not.

    Each method gets the nonce of the post. After a post that is repeated instead, `left_copy` is asked.
    """

    def searches(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        """Whether `recover` may find it; then that is called rather than `send`."""
        ...

    async def recover(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> str | None:
        """One try, which costs one edit: the id of the post, which now shows `text`, or None. Raises as `send`."""
        ...

    def left_copy(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        """Whether there may be a copy of what was posted or found with this nonce. Forgets the nonce."""
        ...


@runtime_checkable
class HearsShare(Protocol):
    """Has to know whether other nodes make calls by the same bot."""

    def granted(self, share: float, /) -> None:
        """Our part of the shared budgets is now `share`; while it is 1 no other node makes any call."""
        ...


@runtime_checkable
class CanDelete(Protocol):
    """Our messages can be taken away (`capabilities.deletes`)."""

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        """Take a message of ours away; one that is gone already is no error. Raises as `send`."""
        ...


@runtime_checkable
class CanStream(Protocol):
    """Text can be appended to a message natively (`capabilities.stream`)."""

    async def open_stream(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Post the beginning and return the message's id. Raises as `send`, and StreamOver where no stream is
        available.
        """
        ...

    async def append(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        """Append. Not idempotent. Raises as `send`, and StreamOver: then the message continues by edits."""
        ...

    async def close_stream(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        """Append the last piece, perhaps empty, and end the stream. Raises as `append`."""
        ...


@runtime_checkable
class CanPreview(Protocol):
    """A message can be shown as a draft that disappears on its own (`capabilities.preview`)."""

    def previews(self, to: Address, /) -> bool:
        """Whether drafts are wanted and available in this conversation."""
        ...

    async def preview(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> None:
        """Show or replace the draft of the message that will be sent with `nonce`. Idempotent. Raises as `send`."""
        ...


@runtime_checkable
class CanOffer(Protocol):
    """Choices can be shown under a message of ours (`capabilities.max_choices`)."""

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        """Show exactly these choices under the message, whose final text is `text`; none takes them away.

        A press comes back as an Inbound of act "choice". Idempotent. Raises as `CanEdit.edit`.
        """
        ...


@runtime_checkable
class CanOpenThread(Protocol):
    """A conversation can be opened beside another (`capabilities.threads`)."""

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """Open a conversation for those who are in `to`; None where the place, or our rights there, allow none.

        What is opened from within a thread stands beside it. Where `capabilities.idempotent_send`, the same nonce gets
        the same conversation; elsewhere a call whose answer was lost leaves an empty one. Raises RateLimited,
        NotDelivered and OutcomeUncertain.
        """
        ...

    async def link(self, to: Address, /) -> str | None:
        """A link that takes people of the platform to a conversation; None where there is none. Raises as
        `open_thread`.
        """
        ...


@runtime_checkable
class CanTellAlone(Protocol):
    """Something can be said to one person so that the others do not read it."""

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Tell a person of the conversation, in it or in private. It may be lost. Raises as `open_thread`."""
        ...


@runtime_checkable
class CanReact(Protocol):
    """The bot can react to people's messages (`capabilities.reactions`)."""

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        """Put our mark on a message in place of any earlier one; None takes it away. Idempotent. Raises as `send`."""
        ...


@runtime_checkable
class CanUpload(Protocol):
    """Files can be sent (`capabilities.max_file_bytes`)."""

    async def upload(
        self, to: Address, file: File, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Post a file with a text beside it, perhaps empty, and return the message's id. Raises as `send`."""
        ...


@runtime_checkable
class CanDownload(Protocol):
    """Files that people sent can be fetched."""

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        """The content behind `Attachment.url`. Raises NotDelivered when it is gone or longer than `max_bytes`."""
        ...


@runtime_checkable
class CanShowTyping(Protocol):
    """The platform can show that somebody is about to answer (`capabilities.typing_lasts_s` is not None)."""

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show the sign for `capabilities.typing_lasts_s`; with what is being done where `status_text`."""
        ...


@runtime_checkable
class CanEndTyping(Protocol):
    """The platform can take that sign away before its time is over."""

    async def end_typing(self, to: Address, speaker: Speaker, /) -> None:
        """Show that the speaker is no longer about to answer."""
        ...


@runtime_checkable
class BringsTogether(Protocol):
    """What people do in several conversations can be taken at the same time."""

    def connect_together(self) -> AbstractAsyncContextManager[AsyncIterator[Sequence[Inbound]]]:
        """As `Adapter.connect`, but all that waits at once, in order, some dozens at most.

        All of it is acknowledged when the consumer asks for more.
        """
        ...


@runtime_checkable
class AnswersHttp(Protocol):
    """The platform sends people's events by HTTP requests, to `/hooks/<platform>` on any node."""

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        """Check the request's signature or secret and take it; returns once what it brought is safe, or refused."""
        ...


@runtime_checkable
class HoldsConnections(Protocol):
    """The adapter keeps connections open between calls, so that sending needs no `connect`."""

    async def aclose(self) -> None:
        """Close them, once nothing more is to be sent."""
        ...
