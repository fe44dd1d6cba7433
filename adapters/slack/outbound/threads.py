"""A memory of threads. All of it can be asked for again or dispensed with."""

from __future__ import annotations

from typing import Final

from adapters.recent import RecentValues
from adapters.slack.api.streams import StreamReader
from adapters.slack.codec.addresses import PLATFORM
from runtime.core.address import Address

REMEMBERED: Final = 10_000
"""The number of threads, of people and of messages remembered; others are asked for again."""


class SlackThreads:
    """`ours`: whether we take part in a thread; `spoken_in`: threads we spoke in since this process started."""

    def __init__(self) -> None:
        self.ours = RecentValues[str, bool](REMEMBERED)
        self.spoken_in = RecentValues[str, bool](REMEMBERED)
        self.untitled = RecentValues[str, bool](REMEMBERED)
        self._recipients = RecentValues[str, StreamReader](REMEMBERED)
        self._latest = RecentValues[str, Address](REMEMBERED)
        self._places = RecentValues[str, Address](REMEMBERED)

    def spoke(self, to: Address, message: str) -> None:
        """We posted a message."""
        self.spoken_in.keep(to.key, True)
        self.ours.keep(to.key, True)
        self._places.keep(_message_key(to.conversation, message), to)

    def heard(self, at: Address, message: str, recipient: StreamReader) -> None:
        """A person wrote a message."""
        self._places.keep(_message_key(at.conversation, message), at)
        self._recipients.keep(at.key, recipient)
        if at.thread is not None:
            self._latest.keep(_message_key(at.conversation, recipient.user), at)

    def recipient(self, at: Address) -> StreamReader | None:
        """The last person to write in a conversation."""
        return self._recipients.get(at.key)

    def latest(self, conversation: str, user: str) -> Address | None:
        """The thread of the last message of a person in a channel."""
        return self._latest.get(_message_key(conversation, user))

    def place(self, conversation: str, message: str) -> Address | None:
        """The place of a message."""
        return self._places.get(_message_key(conversation, message))

    def placed(self, conversation: str, message: str, thread: str | None) -> Address:
        """Slack told the place of a message."""
        place = Address(PLATFORM, conversation, thread)
        self._places.keep(_message_key(conversation, message), place)
        return place


def _message_key(conversation: str, name: str) -> str:
    return f"{conversation}/{name}"
