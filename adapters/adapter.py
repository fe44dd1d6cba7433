"""The port of a chat platform. Policy reads capabilities and never a platform's name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct, field

from adapters.capabilities import Budget, Capabilities, Draws
from adapters.decoding import check_forms
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment, Choice, Mark, Rating
from runtime.core.quote import Quote

Act = Literal["message", "edit", "deletion", "reaction", "choice"]
"""The kind of a person's event: a message, an edit, a deletion, a reaction, a press of a choice."""
Call = Literal["send", "edit", "delete", "open_stream", "append", "close_stream", "typing", "offer", "upload", "react"]
"""A kind of call, for platforms that limit methods separately."""
NOT_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""What reading a payload of unexpected form raises; it is then ignored, with a line in the log."""


class Inbound(Struct, frozen=True):
    """Something a person did. `event_id` is unique within the platform and the same when it is delivered again.

    `person_id` is stable (`telegram:42`). `addressed` is False when people talk among themselves in a group: no
    mention, no reply to us, no command. `command` is a command's name without its slash; its argument is `text`.
    `text` of an edit is the new text, of a reaction the mark ("" when it was taken away), of a choice its label;
    people are mentioned in it as `@Name`. `message_id` is the platform's id of the message that was said or acted
    on. `quote` is what the message replies to, `around` what it forwards or shares, and cards; `attachments` has
    their files too. `space` is the workspace or server it happened in, and `language` the person's (`de`, `pt-BR`),
    where the platform tells. `program` is asked for by name, `choice` is `Choice.id`: of the one that was pressed,
    or of the free one that a message answers. `rating` is what a reaction says of the message. `outsider`: the
    person only shares a channel with `space`. `looking_at` is what they have open in their client, in words. Raises
    as `check_forms`.
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
    around: tuple[Quote, ...] = ()
    space: str | None = None
    language: str | None = None
    program: str | None = None
    choice: str | None = None
    outsider: bool = False
    rating: Rating | None = None
    looking_at: str = ""

    def __post_init__(self) -> None:
        check_forms(self)


Admits = Callable[[Inbound], Awaitable[str | None]]
"""Asked before anything is opened or posted for somebody: None, or what they are told. May raise StorageUnavailable."""


async def everybody_may(_: Inbound) -> str | None:
    return None


HandsOver = Callable[[Any], Awaitable[None]]
"""Shows the object of a platform's library to extensions, before anything is heard. Never raises."""


async def to_nobody(_: object) -> None:
    """Show it to nobody."""


class FileData(Struct, frozen=True):
    """A file with its content. `alt` says what is on a picture, for those who do not see it."""

    name: str
    media_type: str
    data: bytes
    alt: str = ""


class HttpRequest(Struct, frozen=True):
    """A request of a platform. Header names are in lower case; `path` follows `/hooks/<platform>`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class HttpAnswer(Struct, frozen=True):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Adapter(Protocol):
    """A chat platform. Raises only AdapterError and its children; see each method for which."""

    @property
    def name(self) -> str:
        """The platform's name, which is `Address.platform` of all its addresses."""

    @property
    def capabilities(self) -> Capabilities: ...

    def connect(self) -> AbstractAsyncContextManager[AsyncIterator[Inbound]]:
        """People's events, in order.

        An item may be acknowledged to the platform only when the consumer asks for the next one: then it is durable.
        Reconnects on its own. Raises AuthFailed when the token is refused.
        """

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """The bucket of calls to this conversation: its key (topics of one chat share one) and its size."""

    async def check(self) -> str:
        """Whether the token is accepted: one line for a person. Raises AuthFailed or NotDelivered."""

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


@runtime_checkable
class CountsByMethod(Protocol):
    """The platform limits each method separately, so that `budget` alone would be too coarse."""

    def draws(self, to: Address, call: Call, /, *, speaker: Speaker | None = None) -> Draws:
        """The buckets (key, size) of a call of this kind, in place of the conversation's and the bot's.

        `speaker` matters on platforms where agents have buckets of their own.
        """


@runtime_checkable
class CanEdit(Protocol):
    """Messages can be edited after they were posted (`capabilities.edits`)."""

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """Replace the text. Idempotent. Raises as `send`, and MessageGone."""


@runtime_checkable
class CanRecover(Protocol):
    """A post with an unclear outcome can be searched for, where `capabilities.idempotent_send` is False.

    Each method takes the nonce of the post. After a post that is repeated instead, `left_copy` is asked.
    """

    def searches(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        """Whether `recover` may find the post; then it is called in place of `send`."""

    async def recover(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> str | None:
        """Search once, at the cost of one edit: the id of the post, which then shows `text`, or None. As `send`."""

    def left_copy(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        """Whether a second copy of the post with this nonce may exist. Forgets the nonce."""


@runtime_checkable
class HearsShare(Protocol):
    """The adapter must know whether other nodes make calls by the same bot."""

    def granted(self, share: float, /) -> None:
        """Our share of the shared budgets is now `share`; while it is 1 no other node makes any call."""


@runtime_checkable
class CanDoubt(Protocol):
    """Looks for a message before it posts it, unless it knows from its own memory that it cannot be there yet."""

    def doubt(self, nonce: str, /) -> None:
        """Another process may have posted the message with this nonce: the next `send` looks for it."""

    def unless(self, nonce: str, away: Callable[[], bool], /) -> None:
        """The next `send` of this nonce looks, and raises OutcomeUncertain if the conversation is `away` then."""


@runtime_checkable
class CanDelete(Protocol):
    """Our messages can be deleted (`capabilities.deletes`)."""

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        """Delete a message of ours; a missing one is no error. Raises as `send`."""


@runtime_checkable
class CanStream(Protocol):
    """Text can be appended to a message natively (`capabilities.stream`)."""

    async def open_stream(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Post the start and return the message's id. Raises as `send`, and StreamOver where no stream is available."""

    async def append(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        """Append. Not idempotent. Raises as `send`, and StreamOver: then the message continues by edits."""

    async def close_stream(self, to: Address, message: str, text: str, /, *, speaker: Speaker) -> None:
        """Append the last piece, which may be empty, and end the stream. Raises as `append`."""


@runtime_checkable
class CanPreview(Protocol):
    """A message can be shown as a draft that disappears on its own (`capabilities.preview`)."""

    def previews(self, to: Address, /) -> bool:
        """Whether drafts are wanted and available in this conversation."""

    async def preview(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> None:
        """Show or replace the draft of the message that will be sent with `nonce`. Idempotent. Raises as `send`."""


@runtime_checkable
class CanOffer(Protocol):
    """Choices can be shown below a message of ours (`capabilities.max_choices`)."""

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        """Show exactly these choices below the message, whose text becomes `text`; an empty list removes them.

        A press arrives as an Inbound of act "choice". Idempotent. Raises as `CanEdit.edit`.
        """


@runtime_checkable
class CanOpenThread(Protocol):
    """A conversation can be opened beside another (`capabilities.threads`)."""

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """Open a conversation for those who are in `to`; None where the place, or our rights there, allow none.

        What is opened from within a thread stands beside it. Where `capabilities.idempotent_send`, the same nonce gets
        the same conversation; elsewhere a call whose answer was lost leaves an empty one. Raises RateLimited,
        NotDelivered and OutcomeUncertain.
        """

    async def link(self, to: Address, /) -> str | None:
        """A link that leads people on the platform to a conversation; None if it has none. Raises as `open_thread`."""


@runtime_checkable
class CanAnswerAlone(Protocol):
    """Answers in a group that only the person who asked can see."""

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """Tell one person something that may be lost; False where it cannot be done there. Raises as `open_thread`."""


@runtime_checkable
class CanTellAlone(Protocol):
    """One person can be told something that the others do not read."""

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Tell one person of the conversation something, there or in private; it may be lost. As `open_thread`."""


@runtime_checkable
class CanReact(Protocol):
    """The bot can react to people's messages (`capabilities.reactions`)."""

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        """Put our mark on a message in place of an earlier one; None removes it. Idempotent. Raises as `send`."""


@runtime_checkable
class CanUpload(Protocol):
    """Files can be sent (`capabilities.max_file_bytes`)."""

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Post a file with a text, which may be empty, and return the message's id. Raises as `send`."""


@runtime_checkable
class CanDownload(Protocol):
    """Files that people sent can be downloaded."""

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        """The content behind `Attachment.url`. Raises NotDelivered when it is gone or longer than `max_bytes`."""


@runtime_checkable
class CanShowTyping(Protocol):
    """The platform can show that an answer is being written (`capabilities.typing_lasts_s` is not None)."""

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show the indicator for `capabilities.typing_lasts_s`; with `status_text` also the current activity."""


@runtime_checkable
class CanShowTask(Protocol):
    """Cards for long activities of a speaker, beside the typing sign's text."""

    async def show_task(
        self, to: Address, doing: str, /, *, speaker: Speaker, nonce: str, card: str | None = None
    ) -> str:
        """Show a message that is a card, or change this `card`; its id. Raises as `send`, also where there are none."""


@runtime_checkable
class CanEndTyping(Protocol):
    """The platform can remove that indicator early."""

    async def end_typing(self, to: Address, speaker: Speaker, /) -> None:
        """Show that the speaker no longer writes an answer."""


@runtime_checkable
class BringsTogether(Protocol):
    """Events of several conversations can be taken at the same time."""

    def connect_together(self) -> AbstractAsyncContextManager[AsyncIterator[Sequence[Inbound]]]:
        """As `Adapter.connect`, but each item is all that waits, in order, acknowledged when more is asked for."""


@runtime_checkable
class AnswersHttp(Protocol):
    """The platform delivers people's events by HTTP requests to `/hooks/<platform>` on any node."""

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        """Check the request's signature or secret and take it; returns once its content is stored or refused."""


@runtime_checkable
class HoldsConnections(Protocol):
    """The adapter keeps connections open between calls, so that sending works without `connect`."""

    async def aclose(self) -> None:
        """Close the connections, once nothing more is to be sent."""


@runtime_checkable
class ShowsAnswered(Protocol):
    """Shows in the text of some messages what they answer, as long as they are there."""

    def answers(self, message: str, answered: str, /) -> None:
        """A message of ours that is about to be changed answers that one. Another process may have posted it."""


@runtime_checkable
class KnowsWork(Protocol):
    """Says with its messages whether more is to come."""

    def works(self, to: Address, speaker: Speaker, active: bool, /) -> None:
        """A speaker works on an answer there, or has stopped."""


@runtime_checkable
class CanReadBack(Protocol):
    """The platform can be asked what was said in a conversation."""

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        """What was said in a conversation before the message `before`, as it is now: what the place began with, and the
        latest, oldest first.

        Nobody is addressed by any of it, and there are no commands in it. What a bot said has no `person_id`. Raises
        AdapterError.
        """


@runtime_checkable
class CanWriteAlone(Protocol):
    """The bot can begin to write to people in private."""

    async def private_with(self, to: Address, person_id: str, /) -> Address | None:
        """The bot's conversation with one of the people of a conversation alone, if any. Raises AdapterError."""
