"""Things to store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.room import RoomPost
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder, LeaseStore, SessionRecord
from runtime.tape.tape import Fact, agent_tape, session_tape

T0 = datetime(2026, 11, 21, 8, 30, 0, 123456, tzinfo=UTC)
HERE = Address("telegram", "42", "7")
SHARD = shard_of(HERE.key)
SESSION = SessionId("s1")
NODE = LeaseHolder("node-a")
OTHER_NODE = LeaseHolder("node-b")


def event(name: str, *, address: Address = HERE, text: str = "Grüße") -> InboxEvent:
    return InboxEvent(name, address, "telegram:42", "Ada", text, T0, attachments=({"name": "a.png", "size": 3},))


def facts(first: int, *texts: str) -> tuple[Fact, ...]:
    """Facts from number `first` on, in turn on an agent's and on the session's tape."""
    tapes = [agent_tape(SESSION, "1000"), session_tape(SESSION)]
    return tuple(
        Fact(tapes[seq % 2], seq, "said", T0 + timedelta(seconds=seq), {"text": text, "none": None, "list": [1, 2.5]})
        for seq, text in enumerate(texts, start=first)
    )


def beginning(lease: Lease, *, consume: tuple[str, ...] = (), session: SessionId = SESSION) -> Commit:
    """A session's first commit: no facts, the session becomes its conversation's."""
    record = SessionRecord(session, HERE, "hello", T0, 0)
    return Commit(lease, session, 0, begin=record, consume=consume, awake=True)


async def shard_lease(leases: LeaseStore, holder: LeaseHolder = NODE, shard: int = SHARD) -> Lease:
    token = await leases.acquire(f"shard:{shard}", holder)
    assert token is not None
    return Lease(shard, token)


def post(name: str, text: str = "Hello", *, final: bool = True, second: int = 0) -> RoomPost:
    return RoomPost(name, "1000", "Greeter", "agent", text, T0 + timedelta(seconds=second), final, thread=None)
