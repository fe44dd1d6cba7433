"""The queue of one agent: each reader finds what is its own, oldest first."""

import asyncio

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.channels.message_queue import Match, MessageQueue
from runtime.core.errors import QueueClosed, QueueFull, QueueTimeout
from runtime.core.ids import AgentId
from runtime.core.message import Message
from tests.fakes.clock import FakeClock
from tests.unit.runtime.channels.messages import A, B, C, broadcast, direct, from_sender, of_meeting, texts


def oldest(queue: MessageQueue, match: Match | None = None) -> Message | None:
    """The oldest message that matches, which stays in the queue."""
    return next((queue._messages[number] for number in queue._find(match, 1)), None)


@pytest.fixture
def queue(clock: FakeClock) -> MessageQueue:
    return MessageQueue(100, clock)


async def test_messages_are_read_in_the_order_in_which_they_came(queue: MessageQueue) -> None:
    for text in "abc":
        queue.put(direct(text))
    assert [(await queue.get()).content for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "match",
    [from_sender(C), of_meeting, lambda message: message.content == "wanted"],
    ids=["sender", "meeting", "any"],
)
async def test_a_selective_read_leaves_the_others_in_place(queue: MessageQueue, match: Match) -> None:
    queue.put(direct("a"))
    queue.put(broadcast("wanted", C))
    queue.put(direct("b"))
    assert (await queue.get(match)).content == "wanted"
    assert texts(await queue.get_batch()) == ["a", "b"]


async def test_a_reader_waits_until_what_it_wants_comes(queue: MessageQueue, clock: FakeClock) -> None:
    got: list[Message] = []

    async def read() -> None:
        got.append(await queue.get(from_sender(C)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await clock.settle()
        queue.put(direct("other"))
        await clock.settle()
        assert got == []
        queue.put(direct("wanted", C))
    assert texts(got) == ["wanted"]
    assert len(queue) == 1


async def test_a_read_that_takes_too_long_raises(queue: MessageQueue, clock: FakeClock) -> None:
    async with anyio.create_task_group() as tasks:
        raised = anyio.Event()

        async def read() -> None:
            with pytest.raises(QueueTimeout):
                await queue.get(from_sender(C), timeout_s=2)
            raised.set()

        tasks.start_soon(read)
        queue.put(direct("other"))
        await clock.advance(1.9)
        assert not raised.is_set()
        await clock.advance(0.1)
        assert raised.is_set()
    assert (len(queue), len(queue._waiters), clock.sleeping) == (1, 0, 0)


async def test_a_time_limit_of_nothing_takes_what_is_there(queue: MessageQueue) -> None:
    with pytest.raises(QueueTimeout):
        await queue.get(timeout_s=0)
    queue.put(direct("a"))
    assert (await queue.get(timeout_s=0)).content == "a"


async def test_no_timer_is_left_when_the_message_comes_in_time(queue: MessageQueue, clock: FakeClock) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: queue.get(timeout_s=60))
        await clock.settle()
        queue.put(direct("a"))
        await clock.settle()
        assert clock.sleeping == 0


async def test_an_empty_batch_whose_time_is_up_raises(queue: MessageQueue) -> None:
    with pytest.raises(QueueTimeout):
        await queue.get_batch(timeout_s=0)


async def test_who_does_not_wait_takes_what_there_is_now(queue: MessageQueue) -> None:
    assert queue.take() == []
    queue.put(direct("a"))
    assert texts(queue.take()) == ["a"]


async def test_messages_put_together_are_read_together_by_one_who_waits(queue: MessageQueue, clock: FakeClock) -> None:
    got: list[str] = []

    async def read() -> None:
        got.extend(texts(await queue.get_batch()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await clock.settle()
        queue.put_all([direct(text) for text in "abc"])
    assert got == ["a", "b", "c"]


async def test_a_priority_message_comes_first_for_every_reader(queue: MessageQueue) -> None:
    queue.put(broadcast("a"))
    queue.put(broadcast("b"), priority=True)
    assert (
        texts([m for m in (oldest(queue), oldest(queue, from_sender(A)), oldest(queue, of_meeting)) if m]) == ["b"] * 3
    )
    assert texts(await queue.get_batch()) == ["b", "a"]


async def test_removing_tells_how_many_went(queue: MessageQueue) -> None:
    for sender in (A, C, A, B):
        queue.put(direct("x", sender))
    assert queue.remove(from_sender(A)) == 2
    assert queue.remove(lambda _: True) == 2
    assert oldest(queue, from_sender(C)) is None


async def test_readers_are_served_in_order_and_each_message_goes_to_one(queue: MessageQueue, clock: FakeClock) -> None:
    got: list[tuple[int, str]] = []

    async def read(number: int) -> None:
        got.append((number, (await queue.get()).content))

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(read, number)
            await clock.settle()
        for text in "abcde":
            queue.put(direct(text))
    assert sorted(got) == list(enumerate("abcde"))


async def test_a_reader_that_waits_is_asked_only_about_new_messages(queue: MessageQueue, clock: FakeClock) -> None:
    asked: list[str] = []

    def never(message: Message) -> bool:
        asked.append(message.content)
        return False

    async with anyio.create_task_group() as tasks:
        for text in "abc":
            queue.put(direct(text))
        tasks.start_soon(queue.get, never)
        await clock.settle()
        asked.clear()
        queue.put(direct("d"))
        queue.put_all([direct("e")])
        assert asked == ["d", "e"]
        tasks.cancel_scope.cancel()


async def test_closing_wakes_who_waits_and_returns_what_was_not_read(queue: MessageQueue, clock: FakeClock) -> None:
    closed: list[bool] = []

    async def read(timeout_s: float | None) -> None:
        with pytest.raises(QueueClosed):
            await queue.get(from_sender(C), timeout_s=timeout_s)
        closed.append(True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, None)
        tasks.start_soon(read, 60)
        await clock.settle()
        queue.put(direct("a"))
        assert texts(queue.close()) == ["a"]
    assert closed == [True, True]
    with pytest.raises(QueueClosed):
        queue.put(direct("b"))
    with pytest.raises(QueueClosed):
        await queue.get()


async def test_a_full_queue_refuses_and_forgets_nothing(clock: FakeClock) -> None:
    queue = MessageQueue(2, clock)
    queue.put(direct("a"))
    with pytest.raises(QueueFull):
        queue.put_all([direct("b"), direct("c")])
    queue.put(direct("b"))
    with pytest.raises(QueueFull):
        queue.put(direct("c"), priority=True)
    assert texts(await queue.get_batch()) == ["a", "b"]


async def test_a_reader_cancelled_while_it_waits_loses_nothing(queue: MessageQueue, clock: FakeClock) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.get)
        await clock.settle()
        tasks.cancel_scope.cancel()
    queue.put(direct("a"))
    assert ((await queue.get()).content, len(queue._waiters)) == ("a", 0)


@pytest.mark.parametrize("timeout_s", [None, 60.0])
async def test_a_reader_cancelled_as_its_messages_come_gives_them_back_in_order(
    queue: MessageQueue, clock: FakeClock, timeout_s: float | None
) -> None:
    reader = asyncio.create_task(queue.get_batch(timeout_s=timeout_s))
    await clock.settle()
    for text in "abc":
        queue.put(direct(text))
    assert len(queue) == 2
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert texts(await queue.get_batch(timeout_s=0)) == ["a", "b", "c"]


async def test_what_a_cancelled_reader_gives_back_goes_to_the_next_reader(
    queue: MessageQueue, clock: FakeClock
) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await clock.settle()
    queue.put(direct("a"))
    first.cancel()
    assert (await second).content == "a"
    assert first.cancelled()


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from([A, B, C]), st.booleans()),
        st.tuples(st.just("take"), st.sampled_from([A, B, C, None]), st.booleans()),
    ),
    max_size=60,
)


@given(OPERATIONS)
def test_the_queue_agrees_with_a_plain_list(operations: list[tuple[str, AgentId | None, bool]]) -> None:
    queue = MessageQueue(1000, FakeClock())
    model: list[Message] = []
    for number, (operation, sender, flag) in enumerate(operations):
        if operation == "put":
            message = broadcast(str(number), sender or A) if number % 2 else direct(str(number), sender or A)
            queue.put(message, priority=flag)
            model.insert(0 if flag else len(model), message)
        else:
            match: Match | None = from_sender(sender) if sender else of_meeting if flag else None
            expected = [message for message in model if match is None or match(message)]
            assert oldest(queue, match) == (expected[0] if expected else None)
            if match is not None and flag:
                assert queue.remove(match) == len(expected)
                model = [message for message in model if message not in expected]
    assert len(queue) == len(model)


SENDERS = (A, B, C)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2), st.booleans(), st.booleans()),
        st.tuples(st.just("take"), st.integers(0, 4), st.booleans(), st.booleans()),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(steps=steps)
async def test_as_a_list_would_have_it(steps: list[tuple[str, int, bool, bool]]) -> None:
    queue, expected = MessageQueue(100, FakeClock()), list[Message]()
    for what, which, in_meeting, flag in steps:
        if what == "put":
            message = broadcast("x", SENDERS[which]) if in_meeting else direct("x", SENDERS[which])
            queue.put(message, priority=flag)
            expected.insert(0 if flag else len(expected), message)
            continue
        match = (*map(from_sender, SENDERS), of_meeting, None)[which]
        wanted = [message for message in expected if match is None or match(message)][: 1 if flag else 100]
        got = queue.take(match, max_messages=1 if flag else 100)
        assert got == wanted
        expected = [message for message in expected if message not in got]
    assert queue.take() == expected
