"""Conversations in memory while their shard goes away and comes back."""

import anyio
import anyio.lowlevel
import pytest

from runtime.channels.outbox import LivePage
from runtime.core.address import Address
from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.core.page import PageRecord, PageSpec
from runtime.stores.inbox import InboxEntry
from runtime.stores.sessions import Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program
from tests.unit.runtime.sessions.test_session_life import echo


async def test_what_waited_when_the_shard_was_lost_is_taken_once_when_it_comes_back() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        before = len(talk.chat)
        talk.post("one")
        (entry,) = talk.world.waiting
        talk.registry.lost(0)
        await talk.registry.gained(Lease(0, 2))
        talk.registry.dispatch(entry, Lease(0, 2))
        await talk.settled()
        await talk.say("two")
        assert talk.chat[before:] == ["Ada: one", "Ada: two"]


async def test_a_lost_shards_conversations_leave_memory() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        assert len(talk.registry) == 1
        talk.registry.lost(0)
        assert len(talk.registry) == 0


async def test_what_a_page_of_a_lost_shard_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(echo(), Model()) as talk:
        records, make = list[PageRecord](), talk.world.page

        def page(spec: PageSpec, record: PageRecord, /) -> LivePage:
            records.append(record)
            return make(spec, record)

        monkeypatch.setattr(talk.world, "page", page)
        await talk.say("hello")
        talk.registry.lost(0)
        with anyio.fail_after(60), pytest.raises(LeaseLost):
            await records[-1].sent(0, "its answer came late")


CROWD = [Address("test", f"room {number}") for number in range(100)]
SHORT_S = 0.001


async def test_memory_follows_the_conversations_in_which_something_happens() -> None:
    async with talking(echo(), Model(), idle_s=SHORT_S) as talk:
        for address in CROWD:
            talk.post("hello", at=address)
        await talk.settled()
        await talk.rested()
        active = CROWD[::10]
        for address in active:
            talk.post("still here?", at=address)
            assert len(talk.registry) <= len(active)
        await talk.settled()
        await talk.rested()
        assert len(talk.named("session.started")) == len(CROWD)
        assert {event.data["conversation"] for event in talk.named("session.restored")} == {
            address.key for address in active
        }


async def test_a_resting_conversation_tells_its_status_and_rests_again() -> None:
    async with talking(echo(), Model(), idle_s=SHORT_S, after="hello") as talk:
        await talk.rested()
        (status,) = await talk.say("", kind="status")
        assert "Main" in status
        await talk.rested()


async def test_a_parked_shards_resting_conversations_leave_memory_without_waiting() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        assert talk.registry.loads() == {}
        await talk.registry.park(0, within_s=1000)
        assert len(talk.registry) == 0
        talk.post("one")
        assert len(talk.registry) == 0
        assert [entry.event.text for entry in talk.world.waiting] == ["one"]


GREETING = block('await Step("Main:01:QUE")', 'await Say("user", "Hello to you!")', 'await Yld("user")')


async def test_what_goes_on_in_a_parked_shard_comes_to_its_end_and_nothing_new_begins() -> None:
    gate = anyio.Event()
    model = Model(Reply(GREETING.text, gate=gate))
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    async with talking(greeter, model) as talk, anyio.create_task_group() as tasks:
        talk.post("hi")
        await model.writing.wait()
        assert talk.registry.loads() == {0: 1}
        tasks.start_soon(talk.registry.park, 0, 1000)
        await anyio.wait_all_tasks_blocked()
        talk.post("and then?")
        assert len(talk.registry) == 1
        gate.set()
        await talk.rested()
        assert talk.chat == ["Hello to you!"]
        assert [entry.event.text for entry in talk.world.waiting] == ["and then?"]


async def test_what_does_not_end_in_time_is_parked_and_gone_on_with_by_the_next_node() -> None:
    model = Model(Reply(GREETING.text, gate=anyio.Event()))
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    async with talking(greeter, model) as talk:
        talk.post("hi")
        await model.writing.wait()
        await talk.registry.park(0, within_s=0)
        assert len(talk.registry) == 0
    async with talking(greeter, Model(GREETING), world=talk.world) as later:
        await later.until(lambda: later.chat == ["Hello to you!"])


async def test_a_stop_is_obeyed_in_a_shard_that_is_being_parked() -> None:
    model = Model(Reply(GREETING.text, gate=anyio.Event()))
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    async with talking(greeter, model) as talk, anyio.create_task_group() as tasks:
        talk.post("hi")
        await model.writing.wait()
        tasks.start_soon(talk.registry.park, 0, 1000)
        await anyio.wait_all_tasks_blocked()
        talk.post("", kind="stop")
        await talk.rested()
        assert "Stopped" in talk.chat[-1]


class Slow(World):
    """Answers who asks for a session only after all have asked; `order` is what was asked for, one after the other."""

    def __init__(self) -> None:
        super().__init__(())
        self.order: list[str] = []

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        self.order.append("record")
        await anyio.lowlevel.checkpoint()
        return await super().session(shard, session)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        self.order.append("restored")
        return await super().snapshot(session, version)


async def test_what_goes_on_after_a_restart_is_known_before_any_of_it_goes_on() -> None:
    writes = program(agent("Main", llm("Main", "01:QUE Talk; YLD for user", begins=True)))
    halves = [Reply("```python\n" + "# words\n" * 10, gate=anyio.Event()) for _ in CROWD[:5]]
    async with talking(writes, Model(*halves), world=(world := Slow())) as talk:
        for address in CROWD[:5]:
            talk.post("hello", at=address)
        await talk.settled()
    world.order.clear()
    async with talking(writes, Model(*halves), world=world) as talk:
        assert world.order == ["record"] * 5
        await talk.until(lambda: world.order.count("restored") == 5)


class Refusing(World):
    """A world whose shard another node takes over while an event is dismissed."""

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        if entry.event.address == CROWD[0]:
            raise LeaseLost("shard 0 is held by another node")
        await super().dismiss(entry, token)


async def test_a_shard_that_is_lost_while_nothing_runs_there_ends_no_other_conversation() -> None:
    async with talking(echo(), Model(), world=Refusing(())) as talk:
        talk.post("", kind="stop", at=CROWD[0])
        await talk.until(lambda: len(talk.registry) == 0)
        assert [entry.event.address for entry in talk.world.waiting] == [CROWD[0]]
        talk.post("hello", at=CROWD[1])
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["Welcome! hello"]
