"""Faults that systems of agents and channels have had: none of them is here. Each test names one."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.channel import Channel, ChannelRegistry
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Participant
from runtime.core.errors import QueueFull, RoutingError
from runtime.core.ids import StreamId
from runtime.core.message import Message, StreamChunk, StreamComplete, StreamStart
from runtime.events.happening import BusEvent
from runtime.events.talk import ChannelCreated
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import TurboClock, World
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.channels.messages import A, B, direct
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python


def main(code: str) -> Any:
    return program(agent("Lead", MAIN, code=f"async def Main():\n{code}"))


class Watcher:
    """An observer that raises at every piece, or does not."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails
        self.text = ""
        self.ends = 0

    async def on_stream_start(self, event: StreamStart, /) -> None:
        """Begins with nothing."""

    async def on_stream_chunk(self, event: StreamChunk, /) -> None:
        if self._fails:
            raise RuntimeError("no")
        self.text += event.text

    async def on_stream_complete(self, event: StreamComplete, /) -> None:
        self.ends += 1


# -- nothing is dropped silently


@pytest.mark.parametrize("target", ["Nobody", "agent 4711", "meeting 100", "meeting", ""])
async def test_a_message_to_an_unknown_receiver_is_an_error_that_names_the_known(target: str) -> None:
    code = f"""
    try:
        await Say({target!r}, "hello?")
    except Exception as error:
        await Say("user", f"{{type(error).__name__}}: {{error}}")
"""
    async with talking(main(code), Model()) as talk:
        (said,) = await talk.say("go")
        assert said.startswith("UnknownTarget: ")
        assert talk.facts("in") == []
        assert talk.chat == [said]


async def test_a_full_queue_refuses_the_new_and_keeps_the_old() -> None:
    queue = MessageQueue(2, FakeClock())
    channel = ChannelRegistry(Bus(FakeClock())).direct(
        Participant(A, "Agent", lambda _: None), Participant(B, "Agent", queue.put)
    )
    for text in ("first", "second"):
        await channel.send(direct(text))
    with pytest.raises(QueueFull):
        await channel.send(direct("third"))
    assert [(await queue.get()).content for _ in range(2)] == ["first", "second"]


@pytest.mark.parametrize("text", ["<eom>", "please say <eom> twice: <eom>", "", "\u0000 ünï 👋"])
async def test_what_a_person_writes_arrives_whole_whatever_it_is(text: str) -> None:
    code = """
    await Say("user", "well?")
    for message in await WaitForMessage("user"):
        await Say("user", repr(message["text"]))
"""
    assert await answered(main(code), Model(), text, after="go") == [repr(text)]


async def test_a_message_to_oneself_is_delivered_once() -> None:
    code = """
    await Say("agent 1000", "note to self")
    heard = [message["text"] for message in await WaitForMessage("agent 1000")]
    await Say("user", f"{heard} {await WaitForMessage('agent 1000', 1)}")
"""
    assert await answered(main(code), Model(), "go") == ["['note to self'] None"]


async def test_after_a_streamed_sentence_the_next_ones_arrive_too() -> None:
    """Also one with a placeholder, and one to an agent; escapes and quotes are Python's."""
    playbook = llm("Main", "01:QUE Say", "02:QUE Say; YLD for user", begins=True)
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            "number = 2",
            'await Say("user", "first…\\nwith \\"quotes\\")")',
            'await Say("user", f"second {number}")',
            'await Say("agent 1000", "third")',
            'await Step("Main:02:QUE")',
            'await Say("user", "fourth")',
            'await Yld("user")',
        )
    )
    async with talking(program(agent("Lead", playbook)), model) as talk:
        assert await talk.say("go") == ['first…\nwith "quotes")', "second 2", "fourth"]
        assert "third" in [data["message"]["text"] for data in talk.facts("in")]  # type: ignore[index]


# -- an observer harms nobody


async def test_an_observer_that_raises_neither_stops_the_speaker_nor_starves_others_nor_leaves_a_stream() -> None:
    events: list[BusEvent] = []
    bus, got = Bus(FakeClock()), list[Message]()
    bus.subscribe("stream.*", events.append)
    channel = ChannelRegistry(bus).direct(Participant(A, "Agent", lambda _: None), Participant(B, "Agent", got.append))
    bad, good = Watcher(fails=True), Watcher(fails=False)
    channel.add_observer(bad)
    channel.add_observer(good)
    for number in ("1", "2"):  # the same id again: the first stream is no more
        await _stream(channel, f"hello {number}")
    assert (good.text, good.ends, bad.ends) == ("hello 1hello 2", 2, 2)
    assert [message.content for message in got] == ["hello 1", "hello 2"]
    assert [event.name for event in events].count("stream.observer_failed") == 2


async def _stream(channel: Channel, text: str) -> None:
    await channel.start_stream(StreamStart(StreamId("s"), channel.id, A, "Agent", B))
    for character in text:
        await channel.stream_chunk(StreamId("s"), character)
    await channel.complete_stream(StreamId("s"), replace(direct(text), stream_id=StreamId("s")))
    with pytest.raises(RoutingError):
        await channel.stream_chunk(StreamId("s"), "late")


def test_a_message_cannot_be_changed() -> None:
    message = direct("said")
    with pytest.raises(AttributeError, match="immutable"):
        message.content = "never said"  # type: ignore[misc]


async def test_a_sentence_is_seen_while_it_is_written() -> None:
    playbook = llm("Main", "01:QUE Say; YLD for user", begins=True)
    text = "A sentence of some fifty characters, no more, no less."
    model = Model(block('await Step("Main:01:QUE")', f'await Say("user", "{text}")', 'await Yld("user")'))
    async with talking(program(agent("Lead", playbook)), model) as talk:
        assert await talk.say("go") == [text]
        seen = talk.world.chat[0].texts
    assert len(seen) >= 4
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))


# -- nothing polls


class CountingClock(TurboClock):
    """Counts how often somebody waited for a time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0

    async def sleep_until(self, monotonic_s: float, /) -> None:
        self.waits += 1
        await super().sleep_until(monotonic_s)


async def test_agents_that_wait_and_a_program_that_ends_look_at_no_clock() -> None:
    world = World(())
    world.clock = clock = CountingClock()
    listens = "async def Listen():\n    await WaitForMessage('agent 1000')\n"
    helpers = [
        agent(name, python("Listen", trigger="BGN When"), code=listens) for name in ("Helper", "Friend", "Guest")
    ]
    code = 'await Say("user", "here")\n    await WaitForMessage("user")\n    await EndProgram()'
    made = program(agent("Lead", MAIN, code=f"async def Main():\n    {code}"), *helpers)
    async with talking(made, Model(), world=world) as talk:
        assert await talk.say("go") == ["here"]
        for _ in range(500):
            await asyncio.sleep(0)
        assert clock.waits == 0
        await talk.say("bye")
        assert talk.facts("ended") == [{}]
        assert clock.waits == 0


# -- what happens is told at once


async def test_who_asked_is_told_of_a_channel_before_its_first_message() -> None:
    channels, told = ChannelRegistry(Bus(FakeClock())), list[str]()
    channels.on_created(lambda channel: told.append(channel.id))
    got: list[str] = []
    hearer = Participant(B, "Agent", lambda _: got.append(",".join(told)))
    await channels.direct(Participant(A, "Agent", lambda _: None), hearer).send(direct("hi"))
    assert got == ["channel_1000_1001"]


def test_a_subscriber_has_been_called_when_publishing_is_over_and_one_that_raises_is_counted() -> None:
    bus, seen = Bus(FakeClock()), list[str]()

    def fail(_: BusEvent) -> None:
        raise RuntimeError("no")

    bus.subscribe("*", fail)
    bus.subscribe("channel.*", lambda event: seen.append(event.name))
    bus.publish(ChannelCreated("c", 2))
    assert (seen, bus.failures) == (["channel.created"], 1)
