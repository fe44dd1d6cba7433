"""The port of a chat platform. Policy reads capabilities and never asks a platform's name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from adapters.capabilities import Budget, Capabilities
from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment


@dataclass(frozen=True, slots=True)
class Inbound:
    """Something a person did. `event_id` is unique within the platform and the same when it is delivered again.

    `person_id` is stable (`telegram:42`). `addressed` is False when people talk among themselves in a group: no
    mention, no reply to us, no command. `command` is a command's name without its slash; its argument is `text`.
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


class Adapter(Protocol):
    """A chat platform. Raises only AdapterError and its children; see each method for which."""

    @property
    def name(self) -> str:
        """The platform's name: `Address.platform` of everything it makes."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def connect(self) -> AbstractAsyncContextManager[AsyncIterator[Inbound]]:
        """What people do, in order.

        An item may be acknowledged to the platform only when the consumer asks for the next one: then it is durable.
        Reconnects by itself. Raises AuthFailed when the token is refused.
        """
        ...

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """The bucket that calls to this conversation draw from: its key (topics of one chat share one) and size."""
        ...

    async def check(self) -> str:
        """Whether the token is accepted: one line for a person. Raises AuthFailed or NotDelivered."""
        ...

    async def send(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> str:
        """Post `text` (CommonMark, within the limits) and return the platform's message id.

        `nonce` identifies the message: where `capabilities.idempotent_send`, sending it twice posts it once.
        Unless `final` the text is still growing. Raises RateLimited, NotDelivered, OutcomeUncertain, BadMarkup.
        """
        ...


@runtime_checkable
class CanEdit(Protocol):
    """Messages can be changed after they were posted (`capabilities.edits`)."""

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """Replace the text. Idempotent. Raises RateLimited, NotDelivered, OutcomeUncertain, MessageGone, BadMarkup."""
        ...


@runtime_checkable
class CanShowTyping(Protocol):
    """The platform can show that somebody is about to answer (`capabilities.typing_lasts_s` is not None)."""

    async def typing(self, to: Address, speaker: Speaker, /) -> None: ...


@runtime_checkable
class HoldsConnections(Protocol):
    """The adapter keeps connections open between calls, so that sending needs no `connect`."""

    async def aclose(self) -> None:
        """Close them, once nothing more is to be sent."""
        ...
