"""A gateway with something on every screen of its console."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from gateway.access.people import KnownPerson, Role
from gateway.assembly.stores import people_in
from runtime.core.clock import SystemClock
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from tests.contract.storage_samples import HERE, NODE, SHARD, event, shard_lease
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway
from tests.fakes.people.remote_stand import served_by

PASSWORD = "a-password-for-the-console"
WORKS = ROOT / "tests" / "e2e" / "programs" / "works.pb"
BANK = """

# Bank:MCP
remote:
  type: mcp
  {bank}
  env: [PYTHONPATH]
"""

TALKS = {
    "broken": {"hi": "I am at work.", "break": "Divide failed"},
    "boat": {"hi": "I am at work.", "meet": "invites Ada"},
    "shop": {"hi": "I am at work.", "buy": "Bank.buy"},
    "lobby": {
        "hi": "I am at work.",
        "one": "1: one",
        "order": "ordered",
        "/schedule every day at 9 good morning": "Schedule 1",
        "ask": "Ship the order?",
    },
}
"""What people say in each room, and what is seen then."""


@asynccontextmanager
async def at_work(data_dir: Path, **more: str) -> AsyncIterator[Gateway]:
    """Rooms of the chat: one counts and asks, one has failed, one calls a meeting, one asks to use a tool; a task, a
    schedule, two people who ask to get in, two dead letters.
    """
    await _left_before(data_dir)
    program = data_dir / "works.pb"
    program.write_text(WORKS.read_text() + BANK.format(bank=served_by(data_dir / "ledger")))
    environment = {
        "PARLEY_CONSOLE__PASSWORD": PASSWORD,
        "PARLEY_CONSOLE__ACTS": "true",
        "PARLEY_TOOLS__ASK": "Bank.*",
        **more,
    }
    async with gateway(data_dir, program, environment) as running, AsyncExitStack() as stack:
        for name, words in TALKS.items():
            room = Room(await stack.enter_async_context(running.page()), name)
            await (room.join() if name == "lobby" else room.open())
            for text, answer in words.items():
                await room.say(text)
                await room.until_some(answer)
        yield running


async def _left_before(data_dir: Path) -> None:
    """Have the database of a gateway that is to be started hold what is hard to bring about."""
    async with EmbeddedValkey(data_dir) as socket, open_connection(socket, patience_s=20) as connection:
        people = people_in(connection, SystemClock())
        for number, name in enumerate(("Grace", "Linus"), start=7):
            await people.ask(KnownPerson(f"telegram:{number}", name, Role.GUEST), HERE, None, minutes=60, at_most=3)
        leases, inbox = RedisLeaseStore(connection), RedisInbox(connection)
        lease = await shard_lease(leases)
        for name in ("in.1", "in.2"):
            await inbox.add(event(name, text="what nobody could read"))
        for entry in await inbox.read({SHARD: "0"}, wait_s=0):
            await inbox.discard(entry, lease.token, reason="ValueError: it raised")
        await leases.release(f"shard:{SHARD}", NODE, lease.token)
