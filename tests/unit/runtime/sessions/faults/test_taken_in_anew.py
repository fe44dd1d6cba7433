"""A session that is replaced by one from a file while a node has it in memory: the node goes on with the new one."""

import json

import anyio
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Lease, LeaseHolder
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.memory.catalog import MemorySessionCatalog
from tests.fakes.memory.sessions import OpenSessionStore
from tests.fakes.people.talk import Model
from tests.unit.runtime.sessions.programs import MAIN, agent, program

CODE = """
async def Main():
    said = []
    await Say("user", "hello")
    while True:
        for message in await WaitForMessage("user"):
            said.append(message["text"])
            await Say("user", f"noted {len(said)}" if message["text"] != "what?" else " ".join(said))
"""
REMEMBERS = program(agent("Main", MAIN, code=CODE))


class Node:
    """A node over stores in memory, with one conversation."""

    def __init__(self, sandbox: MontySandbox) -> None:
        self.world = World(())
        self.leases = MemoryLeaseStore(self.world.clock)
        self.inbox = MemoryInbox(self.leases)
        self.store = OpenSessionStore(self.leases, self.inbox)
        self.catalog = MemorySessionCatalog(self.store, self.leases)
        bus = Bus(self.world.clock)
        self.around = NodeContext({REMEMBERS.name: REMEMBERS}, self.store, self.world, sandbox, Model(), bus)
        self.registry: ConversationRegistry
        self.lease: Lease
        self._seen = "0"

    async def serve(self, registry: ConversationRegistry) -> None:
        self.registry, shard = registry, shard_of(ADDRESS.key)
        self.lease = Lease(shard, await self.leases.acquire(f"shard:{shard}", LeaseHolder("a")) or 0)
        await registry.gained(self.lease)

    async def say(self, text: str, expected: str) -> None:
        """Say something, and return when this is the last that is seen."""
        await self.inbox.add(InboxEvent(text, ADDRESS, "test:Ada", "Ada", text, self.world.clock.now(), program="test"))
        [entry] = await self.inbox.read({self.lease.shard: self._seen}, wait_s=1)
        self._seen = entry.entry_id
        self.registry.dispatch(entry, self.lease)
        with anyio.fail_after(60):
            while [shown.text for shown in self.world.chat][-1:] != [expected]:
                await anyio.lowlevel.checkpoint()


async def test_as_many_other_facts_are_noticed_with_the_next_message(sandbox: MontySandbox) -> None:
    node = Node(sandbox)
    async with anyio.create_task_group() as tasks:
        node.world.tasks = tasks
        await node.serve(ConversationRegistry(node.around, node.inbox, tasks))
        await node.say("one", "hello")
        await node.say("two", "noted 1")
        current = await node.store.current(node.lease.shard, ADDRESS.key)
        assert current is not None
        whole = await node.catalog.whole(current.id)
        assert whole is not None
        told = [replace(fact, data=json.loads(json.dumps(fact.data).replace("two", "zwei"))) for fact in whole.facts]
        await node.catalog.replace(replace(whole, facts=told), force=True)
        await node.say("what?", "zwei what?")
        assert [shown.text for shown in node.world.chat] == ["hello", "noted 1", "zwei what?"]
        tasks.cancel_scope.cancel()
