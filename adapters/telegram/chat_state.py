"""The adapter's memory of chats. Durable: groups that have moved, and chats where the bot speaks. For a while: people
and messages.

Records: `moved:<old id>` and `came:<new id>` name each other's chat; `topic:<chat>#<topic>` says since when we speak
there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from adapters.recent import RecentValues
from adapters.records import Records, what_can_be_read
from adapters.telegram.codec.addresses import FIRST_SUPERGROUP, KnownChat, UpdateEnvelope
from runtime.core.address import Address
from runtime.core.clock import Clock

MAX_TOPICS: Final = 10_000
"""The number of topics in which we speak that are remembered; the earliest are forgotten first."""
MAX_RECENT: Final = 10_000
"""The number of messages, people and chats remembered; the oldest are forgotten first."""
_TOPIC = re.compile(r"topic:-?\d+#\d+")


class ChatState:
    """Awaited methods may raise StorageUnavailable."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._moved: dict[int, int] = {}
        self._came: dict[int, int] = {}
        self._asked: RecentValues[int, None] = RecentValues(MAX_RECENT)
        self._began_at = clock.now().replace(microsecond=0)
        self._topics: dict[str, str] = {}
        self.people: RecentValues[str, str] = RecentValues(MAX_RECENT)
        """People's names by their lower-case user names."""
        self.places: RecentValues[tuple[int, int], tuple[int | None, int | None]] = RecentValues(MAX_RECENT)
        """Our messages: from chat and number to the topic and the agent's bot that posted them."""
        self.seen: RecentValues[str, None] = RecentValues(MAX_RECENT)
        """The event ids that one of several bots has delivered."""
        self.addressed: RecentValues[tuple[int, int], None] = RecentValues(MAX_RECENT)
        """Messages that were for us, by chat and number."""

    async def load(self) -> None:
        kept = await self._records.all()
        for name, new in what_can_be_read({k: v for k, v in kept.items() if k.startswith("moved:")}, int).items():
            self._take_moved(name, new)
        self._topics |= {name.removeprefix("topic:"): since for name, since in kept.items() if _TOPIC.fullmatch(name)}

    def _take_moved(self, name: str, new: int) -> None:
        old = name.removeprefix("moved:")
        if re.fullmatch(r"-?\d+", old):
            self._moved[int(old)] = new
            self._came[new] = int(old)

    async def known(self, envelopes: Sequence[UpdateEnvelope]) -> KnownChat:
        """Our knowledge of the chat of these updates. Remembers their authors."""
        known = KnownChat(self._clock.now(), self.people)
        for envelope in envelopes:
            chat_id, topic = envelope.chat_id, envelope.topic
            if envelope.sender is not None:
                self.people.keep(*envelope.sender)
            await self.look_up(chat_id, topic)
            post = self.places.get((chat_id, envelope.number))
            unheard = None if (chat_id, envelope.number) in self.addressed else self._began_at
            known = replace(known, home=self.home(chat_id), speaks=self.lives_in(chat_id, topic), post=post)
            known = replace(known, unheard_since=unheard)
        return known

    async def look_up(self, chat_id: int, topic: int | None) -> None:
        """Ask for another node's knowledge of a chat, once, and of a topic, until it is known."""
        if chat_id <= FIRST_SUPERGROUP and chat_id not in self._came and chat_id not in self._asked:
            self._asked.keep(chat_id, None)
            old = await self._records.get(f"came:{chat_id}")
            if old is not None:
                self._take_moved(f"moved:{old}", chat_id)
        key = f"{self.home(chat_id)}#{topic}"
        if topic is not None and key not in self._topics:
            since = await self._records.get(f"topic:{key}")
            if since is not None:
                self._topics[key] = since

    def home(self, chat_id: int) -> int:
        """The chat's id in our conversations: its first one."""
        return self._came.get(chat_id, chat_id)

    def current(self, chat_id: int) -> int:
        return self._moved.get(chat_id, chat_id)

    async def note_moved(self, old: int, new: int) -> None:
        if self._moved.get(old) != new:
            self._take_moved(f"moved:{old}", new)
            await self._records.put(f"came:{new}", str(old))
            await self._records.put(f"moved:{old}", str(new))

    def lives_in(self, chat_id: int, topic: int | None) -> bool:
        return topic is not None and f"{self.home(chat_id)}#{topic}" in self._topics

    async def note_spoke(self, to: Address) -> None:
        """The bot speaks in this conversation; only topics of groups are remembered."""
        key = f"{to.conversation}#{to.thread}"
        if to.thread is None or not to.conversation.startswith("-") or key in self._topics:
            return
        self._topics[key] = self._clock.now().isoformat()
        await self._records.put(f"topic:{key}", self._topics[key])
        if len(self._topics) > MAX_TOPICS:
            await self._forget(sorted(self._topics, key=self._topics.__getitem__)[:-MAX_TOPICS])

    async def forget_topics(self, chat_id: int, topic: int | None = None) -> None:
        """Forget a topic in which the bot no longer speaks, or all topics of a chat."""
        prefix = f"{self.home(chat_id)}#"
        gone = [key for key in self._topics if key.startswith(prefix) and topic in (None, int(key[len(prefix) :]))]
        await self._forget(gone)

    async def _forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            del self._topics[key]
            await self._records.remove(f"topic:{key}")
