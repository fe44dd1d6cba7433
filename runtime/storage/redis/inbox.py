"""The inbox on Redis: one stream for each shard, read plainly, without a consumer group; another for its dead letters.

Events are plain, or their content is sealed; ids, times, kinds and senders stay readable.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Literal

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ContentLocked, InboxFull, LeaseLost, LetterGone
from runtime.storage.encoding.codec import UNREADABLE_KIND, event_from_entry, event_to_json, to_json
from runtime.storage.encoding.sealing import PLAIN, AssociatedData, ContentSealing, conversation_home, key_of
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores import inbox as port
from runtime.stores.sessions import SHARDS

REMEMBERED_S = 7 * 24 * 3600
"""The time for which an event's id is remembered, so that its repetition is recognised."""

_DEAD_LETTERS = 10_000
_READ_AT_ONCE = 100
_COUNTED_AT_MOST = 500

_ADD = load_script("inbox_add")
_DISCARD = load_script("inbox_discard")

_CONTENT = ("name", "text", "files", "quote", "around", "choice")
"""The sealed parts of an event, by their JSON names."""

_ENTRY = "entry"

_NOTHING: Mapping[str, Any] = {"name": "", "text": "", "files": [], "quote": None, "around": [], "choice": None}

_SETTLE = load_script("sessions/settle_dead_letter")


class RedisInbox:
    """Implements `runtime.stores.inbox.Inbox`.

    `bound` is how many events may wait in one shard, `conversation_bound` how many of the kinds CROWDING in one
    conversation, and `person_bound` how many of one person or client: among the newest of the shard, which bounds what
    it costs to count them. So many dead letters of one person are kept, too.
    """

    def __init__(
        self,
        connection: RedisConnection,
        *,
        bound: int = 10_000,
        conversation_bound: int = port.CONVERSATION_BOUND,
        person_bound: int = port.PERSON_BOUND,
    ) -> None:
        self._connection = connection
        self._bound = bound
        self._conversation_bound = conversation_bound
        self._person_bound = person_bound
        self._form = EventForm(connection.sealing)
        self._watch = connection.watch()

    async def add(self, event: port.InboxEvent, /) -> bool:
        conversation = event.address.key
        keys = ShardKeys(port.shard_of(conversation))
        outcome = await self._connection.run(
            _ADD,
            [keys.seen(conversation, event.id), keys.inbox],
            [
                uuid.uuid4().hex,
                REMEMBERED_S,
                self._bound,
                self._form.write(event),
                conversation,
                self._conversation_bound if event.kind in port.CROWDING else "",
                _COUNTED_AT_MOST,
                event.program,
                *self._share(event),
            ],
        )
        if outcome == "crowded":
            raise port.crowded(conversation, self._conversation_bound)
        if outcome == "share":
            raise port.share_used(event.person_id, self._person_bound)
        if outcome == "full":
            raise InboxFull(
                f"{self._bound} events wait in shard {keys.shard}; the one from {conversation} was not accepted."
            )
        return bool(outcome == "added")

    async def known(self, address: Address, event_id: str, /) -> port.KnownEvent | None:
        """An event that was taken in there within the time that ids are remembered."""
        keys = ShardKeys(port.shard_of(address.key))
        seen = await self._connection.read("get", keys.seen(address.key, event_id))
        if seen is None:
            return None
        _, _, rest = str(seen).partition(" ")
        entry, _, program = rest.partition(" ")
        waits = bool(entry) and bool(await self._connection.read("xrange", keys.inbox, min=entry, max=entry))
        return port.KnownEvent(program, waits)

    async def read(self, after: Mapping[int, str], /, *, wait_s: float) -> Sequence[port.InboxEntry]:
        shards = {ShardKeys(shard).inbox: shard for shard in after}
        answer = await self._watch.read(
            {key: after[shard] for key, shard in shards.items()}, wait_s=wait_s, count=_READ_AT_ONCE
        )
        for key, entries in answer:
            self._connection.histories.read(shards[key], entries[-1][0])
        return [
            port.InboxEntry(shards[key], entry_id, self._form.read(entry_id, fields))
            for key, entries in answer
            for entry_id, fields in entries
        ]

    async def still_waiting(self, entries: Sequence[port.InboxEntry], /) -> Sequence[port.InboxEntry]:
        if not entries:
            return []
        key = ShardKeys(entries[0].shard).inbox
        asked = [("xrange", key, entry.entry_id, entry.entry_id) for entry in entries]
        found = await self._connection.read_at_once(key, *asked)
        return [entry for entry, there in zip(entries, found, strict=True) if there]

    async def dismiss(self, entry: port.InboxEntry, token: int, /) -> None:
        await self.discard(entry, token, reason="")

    async def discard(self, entry: port.InboxEntry, token: int, /, *, reason: str) -> None:
        keys, event = ShardKeys(entry.shard), self._form.write(entry.event)
        why = self._form.write_reason(entry.event, reason) if reason else ""
        done = await self._connection.run(
            _DISCARD,
            [keys.lease, keys.inbox, keys.dead],
            [token, entry.entry_id, event, why, _DEAD_LETTERS, *self._share(entry.event), _COUNTED_AT_MOST],
        )
        if not done:
            raise LeaseLost(f"The lease of shard {entry.shard} is no longer ours (token {token}).")

    def _share(self, event: port.InboxEvent) -> tuple[str, int | str]:
        """A digest of who sent an event, and how many of them may lie in a shard; "" where nobody has a share."""
        digest = blake2b(event.person_id.encode(), digest_size=8).hexdigest()
        return digest, self._person_bound if port.has_share(event) else ""


class EventForm:
    """Writes and reads events as `sealing` has it."""

    def __init__(self, sealing: ContentSealing) -> None:
        self._sealing = sealing

    def write(self, event: port.InboxEvent) -> str:
        """An event as JSON. One that could not be opened is written unchanged."""
        if event.kind == port.LOCKED:
            return str(event.attachments[0][_ENTRY])
        written, sealing = event_to_json(event), self._sealing.of(event.address.key)
        if sealing is PLAIN:
            return written
        data = json.loads(written)
        content = {name: data.pop(name) for name in _CONTENT}
        return to_json({**data, "sealed": sealing.seal(_binding(event), to_json(content))})

    def read(self, entry_id: str, fields: Mapping[str, str]) -> port.InboxEvent:
        """The event of an entry; of the kind LOCKED if it cannot be decrypted; see `event_from_entry`."""
        text = fields.get("e", "")
        if '"sealed":' not in text:
            return event_from_entry(entry_id, fields)
        try:
            data = json.loads(text)
            sealed = data.pop("sealed")
        except (ValueError, LookupError, TypeError, AttributeError):
            return event_from_entry(entry_id, fields)
        hollow = event_from_entry(entry_id, {"e": to_json({**data, **_NOTHING})})
        try:
            content = json.loads(self._sealing.open(_binding(hollow), str(sealed)))
        except ContentLocked as error:
            return replace(hollow, kind=port.LOCKED, text=str(error), attachments=({_ENTRY: text},))
        return event_from_entry(entry_id, {"e": to_json({**data, **content})})

    def key_of(self, text: str) -> str:
        """The id of the key of an event; "" for an unsealed one."""
        try:
            return key_of(str(json.loads(text)["sealed"]))
        except (ValueError, LookupError, TypeError):
            return ""

    def anew(self, entry_id: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The fields of an entry that differ in the current form, in that form."""
        event = self.read(entry_id, fields)
        if event.kind in (port.LOCKED, UNREADABLE_KIND):
            return {}
        anew = {"e": self.write(event)}
        if fields.get("reason"):
            anew["reason"] = self.write_reason(event, self.read_reason(event, fields["reason"]))
        return {name: text for name, text in anew.items() if text != fields[name]}

    def write_reason(self, event: port.InboxEvent, reason: str) -> str:
        """The reason why an event was set aside, which may quote it."""
        sealing = self._sealing if event.kind == port.LOCKED else self._sealing.of(event.address.key)
        return sealing.seal(_reason_binding(event), reason)

    def read_reason(self, event: port.InboxEvent, written: str) -> str:
        """The reason, or the reason why it cannot be read."""
        try:
            return self._sealing.open(_reason_binding(event), written)
        except ContentLocked as error:
            return str(error)


class RedisDeadLetters:
    """Implements `runtime.stores.inbox.DeadLetters`.

    `bound` is the largest number of events in a shard's inbox.
    """

    def __init__(self, connection: RedisConnection, *, bound: int = 10_000) -> None:
        self._connection = connection
        self._bound = bound
        self._form = EventForm(connection.sealing)

    async def page(self, after: str = "", /, *, limit: int) -> Sequence[port.DeadLetter]:
        first, number = port.letter_place(after) if after else (0, "")
        found: list[port.DeadLetter] = []
        for shard in range(max(first, 0), SHARDS):
            behind = f"({number}" if shard == first and number else "-"
            found += await self._read(shard, behind, "+", limit - len(found))
            if len(found) >= limit:
                break
        return found

    async def get(self, letter: str, /) -> port.DeadLetter | None:
        shard, number = port.letter_place(letter)
        found = await self._read(shard, number, number, 1) if number else []
        return found[0] if found else None

    async def replay(self, letter: str, /) -> port.DeadLetter:
        return await self._settle(letter, "replay")

    async def drop(self, letter: str, /) -> port.DeadLetter:
        return await self._settle(letter, "drop")

    async def _settle(self, letter: str, how: Literal["replay", "drop"]) -> port.DeadLetter:
        shard, number = port.letter_place(letter)
        found = await self.get(letter)
        outcome = "gone"
        if found is not None:
            keys, event = ShardKeys(shard), found.event
            outcome = await self._connection.run(
                _SETTLE,
                [keys.dead, keys.settled(number), keys.inbox, keys.seen(event.address.key, event.id)],
                [uuid.uuid4().hex, number, how, self._bound, REMEMBERED_S, event.program],
            )
        if found is None or outcome == "gone":
            raise LetterGone(f"There is no dead letter {letter} (any more); see parley debug letters list.")
        if outcome == "full":
            raise InboxFull(
                f"{self._bound} events wait in shard {shard}; the letter {letter} stays where it is. Try again later."
            )
        return found

    async def _read(self, shard: int, first: str, last: str, count: int) -> list[port.DeadLetter]:
        found = await self._connection.read("xrange", ShardKeys(shard).dead, min=first, max=last, count=count)
        return [self._letter(shard, number, fields) for number, fields in found]

    def _letter(self, shard: int, number: str, fields: Mapping[str, str]) -> port.DeadLetter:
        event = self._form.read(number, fields)
        reason = self._form.read_reason(event, fields.get("reason", ""))
        died_at = datetime.fromtimestamp(int(number.partition("-")[0]) / 1000, UTC)
        return port.DeadLetter(port.letter_id(shard, number), event, fields.get("id", number), reason, died_at)


def _binding(event: port.InboxEvent) -> AssociatedData:
    about = ("event", event.id, event.kind, event.person_id, event.sent_at.isoformat())
    return AssociatedData(conversation_home(event.address.key), about)


def _reason_binding(event: port.InboxEvent) -> AssociatedData:
    return AssociatedData(conversation_home(event.address.key), ("reason", event.id))
