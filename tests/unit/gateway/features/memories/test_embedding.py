"""A model says what texts mean, within bounds; without an answer there is none, and nothing waits."""

import base64

import pytest

from gateway.features.memories.node import PAUSE_S, ModelEmbedder
from gateway.models.answers import BilledModel
from runtime.core.address import Address
from runtime.core.errors import LLMError, LLMTimeout, LLMUnavailable
from runtime.events.frames import LLMAnswered, LLMBrokeOff
from runtime.events.happening import Happening
from runtime.llm.client import EMBED, Usage
from tests.fakes.clock import HastyClock
from tests.fakes.people.talk import Model, Reply
from tests.unit.gateway.features.voice.test_listening import PAYER

TEXTS = ["is vegetarian", "lives in Oslo"]
VECTORS = [b"\x01\x02", b"\xff\x03"]
GIVEN = Reply("\n".join(base64.b64encode(one).decode() for one in VECTORS), usage=Usage(9, cost_usd=0.001, model="m"))


def embedder(
    *replies: Reply | LLMError, refuses: str | None = None, told: list[Happening] | None = None
) -> tuple[ModelEmbedder, Model, HastyClock]:
    async def may_ask(_address: Address, _person: str | None) -> str | None:
        return refuses

    model, clock = Model(*replies), HastyClock()
    return ModelEmbedder(BilledModel(model, may_ask, ([] if told is None else told).append, clock)), model, clock


async def test_texts_become_vectors_and_what_they_cost_is_told() -> None:
    told: list[Happening] = []
    asks, model, _ = embedder(GIVEN, told=told)
    assert await asks.embed(TEXTS, PAYER) == VECTORS
    assert [message.content for message in model.asked[0]] == TEXTS
    (answered,) = told
    assert isinstance(answered, LLMAnswered)
    assert (answered.model, answered.cost_usd, answered.purpose, answered.tokens_in) == ("m", 0.001, EMBED, 9)
    assert (answered.participant_id, answered.conversation) == (PAYER.person, PAYER.address.key)


@pytest.mark.parametrize("failure", [LLMUnavailable("down"), LLMTimeout("slow"), Reply("no Base64!")])
async def test_after_a_failure_the_model_is_left_alone_for_a_while(failure: Reply | LLMError) -> None:
    told: list[Happening] = []
    asks, model, clock = embedder(failure, GIVEN, told=told)
    assert await asks.embed(TEXTS, PAYER) is None
    assert await asks.embed(TEXTS, PAYER) is None
    assert len(model.asked) == 1
    assert [type(what) for what in told] == [LLMBrokeOff]
    await clock.sleep_until(PAUSE_S)
    assert await asks.embed(TEXTS, PAYER) == VECTORS


async def test_an_answer_of_another_number_of_vectors_is_none() -> None:
    asks, _, _ = embedder(GIVEN)
    assert await asks.embed(["one"], PAYER) is None


async def test_who_has_used_up_their_share_is_not_asked_for() -> None:
    asks, model, _ = embedder(GIVEN, refuses="Enough.")
    assert await asks.embed(TEXTS, PAYER) is None
    assert model.asked == []
