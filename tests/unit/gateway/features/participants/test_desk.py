"""The protocol of participants in other processes, over a real WebSocket to the served route."""

import httpx
import pytest
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import InvalidStatus

from gateway.features.participants.door import ATTEMPTS, WINDOW
from runtime.core.clock import SystemClock
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from tests.fakes.people.participants import SEAT, TOKEN, reception, wire


async def refusal(url: str, **headers: str) -> int:
    """The status with which a connection is refused."""
    with pytest.raises(InvalidStatus) as caught:
        async with open_socket(url, additional_headers=headers, proxy=None):
            pass
    return caught.value.response.status_code


async def test_nobody_comes_in_without_the_token_of_the_name() -> None:
    async with reception() as made:
        assert await refusal(made.url) == 401
        assert await refusal(made.url, Authorization="Bearer wrong") == 401
        assert await refusal(made.url, Authorization=f"Basic {TOKEN}") == 401
        assert await refusal(made.url.replace("scout", "guide"), Authorization=f"Bearer {TOKEN}") == 401
        assert await refusal(made.url.replace("scout", "nobody"), Authorization="Bearer nobody") == 401
        async with wire(made):
            pass


async def test_guessing_is_slowed_down() -> None:
    async with reception() as made:
        found = [await refusal(made.url, Authorization="Bearer wrong") for _ in range(int(ATTEMPTS.burst) + 1)]
        assert (found[0], found[-1]) == (401, 429)


async def test_a_page_in_a_browser_does_not_come_in() -> None:
    async with reception() as made:
        assert await refusal(made.url, Origin="https://evil.example") == 401
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            assert (await http.get(made.url.replace("ws://", "http://"))).status_code == 404


async def test_messages_come_in_order_and_again_until_they_are_acknowledged() -> None:
    async with reception() as made:
        await made.put("a", "b", "c")
        async with wire(made) as first:
            assert await first.texts(3) == ["a", "b", "c"]
        async with wire(made) as second:
            frame = await second.next("message")
            assert (frame["text"], frame["seat"]) == ("a", SEAT.id)
            await second.send("ack", entry=frame["entry"])
            assert await second.texts(2) == ["b", "c"]
            await second.send("say", id="1", seat=SEAT.id, to="Lead", text="hm")  # behind the acknowledgement
            await second.next("taken")
        assert await made.fetched() == ["a"]
        async with wire(made) as third:
            assert await third.texts(2) == ["b", "c"]


async def test_one_acknowledgement_is_for_all_before_it() -> None:
    async with reception() as made:
        await made.put("a", "b", "c")
        async with wire(made) as first:
            entries = [(await first.next("message"))["entry"] for _ in range(3)]
        async with wire(made, after=entries[1]) as second:
            assert await second.texts(1) == ["c"]
        assert await made.fetched() == ["a", "b"]


async def test_what_comes_later_is_sent_when_it_comes() -> None:
    async with reception() as made, wire(made) as participant:
        await made.put("a")
        assert await participant.texts(1) == ["a"]
        await made.put("b")
        assert await participant.texts(1) == ["b"]


async def test_who_does_not_acknowledge_gets_a_window_of_messages_and_no_more() -> None:
    async with reception() as made, wire(made) as participant:
        await made.put(*(str(number) for number in range(WINDOW + 2)))
        frames = [await participant.next("message") for _ in range(WINDOW)]
        await participant.send("say", id="1", seat=SEAT.id, to="Lead", text="full")
        assert (await participant.next())["type"] == "taken"
        await participant.send("ack", entry=frames[0]["entry"])
        await participant.send("say", id="2", seat=SEAT.id, to="Lead", text="still so")
        assert (await participant.next())["type"] == "taken"
        await participant.send("ack", entry=frames[WINDOW // 2]["entry"])
        assert await participant.texts(2) == [str(WINDOW), str(WINDOW + 1)]


async def test_what_is_said_is_kept_once_however_often_it_is_said() -> None:
    async with reception() as made:
        await made.put("a")
        for _ in range(2):
            async with wire(made) as participant:
                await participant.next("message")
                await participant.send("say", id="7", seat=SEAT.id, to="agent 1000", text="ünï\nsaid")
                assert (await participant.next("taken"))["id"] == "7"
        assert await made.acts() == [SeatAct(SEAT.id, "say", "7", to="agent 1000", text="ünï\nsaid")]
        (event,) = await made.came()
        assert event.address == SEAT.address


async def test_who_has_no_seat_there_is_refused() -> None:
    async with reception() as made, wire(made) as participant:
        await participant.send("say", id="1", seat="s2/1001", to="user", text="hm")
        assert (await participant.next("refused"))["reason"] == "scout has no seat s2/1001"
        assert await made.came() == []


async def test_a_text_that_is_too_long_is_refused() -> None:
    async with reception(message_chars=10) as made, wire(made) as participant:
        await made.put("a")
        await participant.next("message")
        await participant.send("say", id="1", seat=SEAT.id, to="Lead", text="x" * 11)
        assert (await participant.next("refused"))["id"] == "1"
        assert await made.came() == []


async def test_the_newer_connection_wins_and_the_older_is_told() -> None:
    async with reception() as made, wire(made) as old, wire(made) as new:
        assert await old.farewell() == ("replaced by a newer connection of this name", 4409)
        await made.put("a")
        assert await new.texts(1) == ["a"]


async def test_one_that_takes_nothing_is_replaced_too() -> None:
    async with reception() as made:
        await made.put(*(str(number) for number in range(WINDOW + 1)))
        async with wire(made) as old:
            await old.texts(WINDOW)
            async with wire(made) as new:
                assert (await old.farewell())[1] == 4409
                assert await new.texts(1) == ["0"]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("nonsense", "a frame is a JSON object"),
        ("[]", "a frame is a JSON object"),
        ('{"type": "shout"}', "there is no type 'shout'; there are hello, ack, say, answer, leave and share"),
        ('{"type": "say", "id": "1"}', "say needs seat, a text"),
        ('{"type": "ack", "entry": "$"}', "'$' is not the entry of a message"),
        ('{"type": "answer", "id": "1", "seat": "s", "meeting": "100", "answer": "MAYBE"}', "an answer is JOINED"),
        ('{"type": "hello", "version": 1}', "hello is said once"),
        ('{"type": "hello", "version": 2}', "version 2 is not spoken here; 1 is"),
        ("[" * 10_000, "a frame is a JSON object"),
    ],
)
async def test_what_cannot_be_understood_ends_the_connection_with_the_reason(frame: str, reason: str) -> None:
    async with reception() as made, wire(made) as participant:
        await participant.socket.send(frame)
        said, code = await participant.farewell()
        assert said.startswith(reason)
        assert code == 4400


async def test_hello_comes_first() -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with reception() as made, open_socket(made.url, additional_headers=headers, proxy=None) as socket:
        await socket.send('{"type": "ack", "entry": "1-0"}')
        assert "hello must come first" in str(await socket.recv())


async def test_an_inbox_that_is_full_asks_to_come_back_later() -> None:
    full = MemoryInbox(MemoryLeaseStore(SystemClock()), bound=0)
    async with reception(inbox=full) as made, wire(made) as participant:
        await made.put("a")
        await participant.next("message")
        await participant.send("say", id="1", seat=SEAT.id, to="Lead", text="hm")
        assert (await participant.farewell())[1] == 1013


async def test_the_newer_connection_wins_also_on_another_node() -> None:
    async with reception() as one, reception(mailboxes=one.mailboxes, inbox=one.inbox) as other:
        await one.put("a", "b")
        async with wire(one) as old:
            entry = (await old.next("message"))["entry"]
            await old.texts(1)
            await old.send("ack", entry=entry)
            await old.send("say", id="1", seat=SEAT.id, to="Lead", text="from this node")
            await old.next("taken")
            async with wire(other) as new:
                assert (await old.farewell())[1] == 4409
                assert await new.texts(1) == ["b"]
                await new.send("say", id="2", seat=SEAT.id, to="Lead", text="from the other node")
                await new.next("taken")
        assert [act.text for act in await one.acts()] == ["from this node", "from the other node"]


async def test_coming_and_going_is_told() -> None:
    async with reception() as made:
        async with wire(made):
            pass
        async with wire(made) as again:
            await again.socket.send("nonsense")
            await again.farewell()
        assert {(event.name, event.data["participant"]) for event in made.events} >= {
            ("participant.connected", "scout"),
            ("participant.left", "scout"),
        }
