"""The library of participants in other processes, against the served route."""

import anyio
import pytest

from gateway.features.participants.client import NotTaken, Replaced, SeatRefused, connect
from tests.fakes.people.participants import TOKEN, Reception, reception, wire


async def answer_all(made: Reception, count: int) -> list[str]:
    """Answer so many messages; their texts."""
    heard: list[str] = []
    async with connect(made.url, TOKEN) as inbox:
        async for message in inbox:
            await message.reply(f"so {message.text}")
            heard.append(message.text)
            if len(heard) == count:
                await inbox.acknowledge()
                return heard
    raise AssertionError("unreachable")


async def test_a_program_of_three_lines_hears_and_answers() -> None:
    async with reception() as made:
        await made.put("a", "b")
        assert await answer_all(made, 2) == ["a", "b"]
        acts = await made.acts()
        assert [(act.does, act.to, act.text) for act in acts] == [
            ("say", "agent 1000", "so a"),
            ("say", "agent 1000", "so b"),
        ]


async def test_a_message_is_acknowledged_when_the_next_one_is_asked_for() -> None:
    async with reception() as made:
        await made.put("a", "b")
        async with connect(made.url, TOKEN) as inbox:
            assert (await anext(inbox)).text == "a"
            assert await made.fetched() == []
            message = await anext(inbox)
            await message.say("user", "behind the acknowledgement")
            assert await made.fetched() == ["a"]


async def test_who_dies_before_acknowledging_is_given_it_again_and_answers_once() -> None:
    async with reception() as made:
        await made.put("a", "b")
        async with connect(made.url, TOKEN) as inbox:
            await (await anext(inbox)).reply("first thing")
        async with connect(made.url, TOKEN) as inbox:
            message = await anext(inbox)
            assert message.text == "a"
            await message.reply("first thing")
            await message.reply("second thing")
        assert [act.text for act in await made.acts()] == ["first thing", "second thing"]


async def test_a_meeting_is_joined_heard_answered_and_left() -> None:
    async with reception() as made:
        await made.put("come", kind="meeting_invitation", meeting="100")
        await made.put("hello all", kind="meeting_broadcast", meeting="100")
        async with connect(made.url, TOKEN) as inbox:
            invitation = await anext(inbox)
            assert (invitation.kind, invitation.meeting, invitation.sender) == ("meeting_invitation", "100", "Lead")
            await invitation.join()
            said = await anext(inbox)
            await said.reply("hello")
            await said.leave()
            await said.reject("no time")
        acts = [(act.does, act.meeting or act.to, act.text) for act in await made.acts()]
        assert acts == [
            ("answer", "100", "JOINED"),
            ("say", "meeting 100", "hello"),
            ("leave", "100", ""),
            ("answer", "100", "REJECTED - no time"),
        ]


async def test_a_gateway_that_goes_and_comes_back_loses_nothing_and_repeats_nothing() -> None:
    made, heard = Reception(), list[str]()
    async with anyio.create_task_group() as tasks:
        await made.serve(tasks)

        async def participate() -> None:
            async with connect(made.url, TOKEN) as inbox:
                async for message in inbox:
                    await message.reply(message.text)
                    heard.append(message.text)
                    if len(heard) == 60:
                        await inbox.acknowledge()
                        await message.say("user", "behind the acknowledgement")
                        tasks.cancel_scope.cancel()

        tasks.start_soon(participate)
        for part in range(6):
            await made.put(*(f"{part}.{number}" for number in range(10)))
            while len(heard) < part * 10 + 5:
                await anyio.lowlevel.checkpoint()
            await made.stop()
            await made.serve(tasks)
    wanted = [f"{part}.{number}" for part in range(6) for number in range(10)]
    assert heard == wanted
    assert [act.text for act in await made.acts()][:60] == wanted
    assert sorted(set(await made.fetched())) == sorted(wanted)


async def test_what_is_said_while_the_gateway_is_away_is_said_when_it_is_back() -> None:
    made = Reception()
    async with anyio.create_task_group() as tasks:
        await made.serve(tasks)
        await made.put("a")
        async with connect(made.url, TOKEN) as inbox:
            message = await anext(inbox)
            await made.stop()
            tasks.start_soon(made.serve, tasks)
            await message.reply("late")
        tasks.cancel_scope.cancel()
    assert [act.text for act in await made.acts()] == ["late"]


async def test_what_the_gateway_will_not_take_is_an_error_and_the_rest_goes_on() -> None:
    async with reception(message_chars=10) as made:
        await made.put("a")
        async with connect(made.url, TOKEN) as inbox:
            message = await anext(inbox)
            with pytest.raises(NotTaken, match="at most 10 characters"):
                await message.reply("x" * 11)
            await message.reply("short")
        assert [act.text for act in await made.acts()] == ["short"]


async def test_a_wrong_token_ends_it_with_the_reason() -> None:
    async with reception() as made, connect(made.url, "wrong") as inbox:
        with pytest.raises(SeatRefused, match="not known"):
            await anext(inbox)


async def test_an_address_that_is_none_ends_it_with_the_reason() -> None:
    async with connect("scout", TOKEN) as inbox:
        with pytest.raises(SeatRefused, match="scout"):
            await anext(inbox)


async def test_who_is_replaced_by_a_newer_connection_is_told() -> None:
    async with reception() as made, connect(made.url, TOKEN) as inbox:
        await made.put("a")
        await anext(inbox)
        async with wire(made):
            with pytest.raises(Replaced, match="newer connection"):
                await anext(inbox)


async def test_an_error_in_the_program_is_its_own() -> None:
    async with reception() as made:
        await made.put("a")

        async def fail() -> None:
            async with connect(made.url, TOKEN) as inbox:
                async for _ in inbox:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert await made.acts() == []
