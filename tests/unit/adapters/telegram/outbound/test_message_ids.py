"""Where a lost message may stand, and when it is not looked for."""

from __future__ import annotations

import pytest

from adapters.telegram.outbound.message_ids import SEARCHED_S, TRIES, MessageIds, Spot
from runtime.core.errors import NotDelivered, OutcomeUncertain, ShownDiffers
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio

ADA, EVE = Spot(42, None, None), Spot(43, None, None)
FORUM, TOPIC = Spot(-(10**12) - 1, 8, None), Spot(-(10**12) - 1, 9, None)
PLAIN = Spot(-500, None, None)


async def lose(numbers: MessageIds, spot: Spot = ADA, nonce: str = "n") -> None:
    with pytest.raises(OutcomeUncertain):
        async with numbers.posting(spot, nonce):
            raise OutcomeUncertain("502")


async def post(numbers: MessageIds, number: int, spot: Spot = ADA, nonce: str = "before") -> None:
    async with numbers.posting(spot, nonce):
        numbers.posted(spot, number, nonce)


async def _post_while_another_comes(numbers: MessageIds) -> None:
    async with numbers.posting(ADA, "n"):
        numbers.granted(0.5)
        numbers.granted(1.0)
        raise OutcomeUncertain("502")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def numbers(clock: FakeClock) -> MessageIds:
    return MessageIds(clock)


async def test_it_is_looked_for_at_the_first_numbers_that_nobody_has(numbers: MessageIds) -> None:
    await post(numbers, 10)
    numbers.heard(42, 11, None)
    await lose(numbers)
    numbers.heard(42, 13, None)
    await post(numbers, 14, EVE)
    tried = []
    while (number := numbers.where(ADA, "n")) is not None:
        tried.append(number)
        numbers.missed(ADA, number, "n")
    assert tried == [12, 15, 16]
    assert len(tried) == TRIES


async def test_a_repetition_after_all_numbers_between_were_accounted_for_left_no_copy(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    numbers.heard(42, 12, None)
    await post(numbers, 13, nonce="n")
    assert not numbers.left_copy(ADA, "n")


async def test_a_repetition_above_an_unknown_number_may_have_left_a_copy(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    await post(numbers, 13, nonce="n")
    assert numbers.left_copy(ADA, "n")
    assert not numbers.left_copy(ADA, "n")


async def test_a_found_message_is_no_copy_and_is_known_from_then_on(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.found(ADA, 11, "n")
    assert not numbers.left_copy(ADA, "n")
    await lose(numbers, nonce="m")
    assert numbers.where(ADA, "m") == 12


async def test_a_repetition_that_is_lost_too_may_stand_where_the_first_did_not(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.missed(ADA, 11, "n")
    await lose(numbers)
    assert numbers.where(ADA, "n") == 11


async def test_the_first_message_of_a_process_is_not_looked_for(numbers: MessageIds) -> None:
    numbers.heard(42, 10, None)
    await lose(numbers)
    assert numbers.where(ADA, "n") is None
    await post(numbers, 12, nonce="n")
    assert numbers.left_copy(ADA, "n")


async def test_a_message_in_another_private_chat_counts_for_its_bot_only(numbers: MessageIds) -> None:
    await post(numbers, 10, EVE)
    await lose(numbers)
    await lose(numbers, Spot(42, None, 77))
    assert (numbers.where(ADA, "n"), numbers.where(Spot(42, None, 77), "n")) == (11, None)


async def test_nothing_is_looked_for_while_other_nodes_may_post_nor_what_was_lost_then(numbers: MessageIds) -> None:
    await post(numbers, 10)
    await lose(numbers)
    numbers.granted(0.5)
    assert numbers.where(ADA, "n") is None
    await lose(numbers, nonce="m")
    numbers.granted(1.0)
    await lose(numbers, nonce="o")
    await post(numbers, 20, nonce="p")
    await lose(numbers, nonce="q")
    assert [numbers.where(ADA, nonce) for nonce in "nmoq"] == [None, None, None, 21]


async def test_a_node_that_came_while_a_post_was_under_way_leaves_it_unsearched(numbers: MessageIds) -> None:
    await post(numbers, 10)
    with pytest.raises(OutcomeUncertain):
        await _post_while_another_comes(numbers)
    await post(numbers, 12)
    assert numbers.where(ADA, "n") is None


async def test_in_ordinary_groups_nothing_is_looked_for(numbers: MessageIds) -> None:
    await post(numbers, 10, PLAIN)
    await lose(numbers, PLAIN)
    assert numbers.where(PLAIN, "n") is None
    await post(numbers, 12, PLAIN, nonce="n")
    assert numbers.left_copy(PLAIN, "n")


async def test_posts_lost_in_two_topics_are_not_looked_for(numbers: MessageIds, clock: FakeClock) -> None:
    await post(numbers, 10, FORUM)
    await lose(numbers, FORUM)
    assert numbers.where(FORUM, "n") == 11
    await lose(numbers, TOPIC, nonce="m")
    assert (numbers.where(FORUM, "n"), numbers.where(TOPIC, "m")) == (None, None)


async def test_it_is_not_looked_for_after_a_while(numbers: MessageIds, clock: FakeClock) -> None:
    await post(numbers, 10)
    await lose(numbers)
    await clock.advance(SEARCHED_S + 1)
    assert numbers.where(ADA, "n") is None


@pytest.mark.parametrize("error", [ShownDiffers("it shows another text"), KeyboardInterrupt()])
async def test_a_post_that_may_stand_unknown_stops_the_search_until_the_next(
    numbers: MessageIds, error: BaseException
) -> None:
    await post(numbers, 10)
    with pytest.raises(type(error)):
        async with numbers.posting(ADA, "n"):
            raise error
    await lose(numbers, nonce="m")
    assert numbers.where(ADA, "m") is None
    await post(numbers, 15)
    await lose(numbers, nonce="o")
    assert numbers.where(ADA, "o") == 16


async def test_a_clear_refusal_leaves_nothing_to_look_for(numbers: MessageIds) -> None:
    await post(numbers, 10)
    with pytest.raises(NotDelivered):
        async with numbers.posting(ADA, "n"):
            raise NotDelivered("blocked")
    assert numbers.where(ADA, "n") is None
    assert not numbers.left_copy(ADA, "n")
