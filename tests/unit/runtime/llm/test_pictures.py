"""Pictures in requests: how they travel, who gets them, and whether a model takes any."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import asdict

import pytest

from runtime.llm.client import DESCRIBE, ChatMessage, CompletionRequest, Picture, Usage
from runtime.llm.frames import request_from
from runtime.llm.sight import Sight
from runtime.llm.worker.by_purpose import ByPurpose
from runtime.llm.worker.prices import ListedPrice
from runtime.llm.worker.prompt import messages_data

pytestmark = pytest.mark.anyio

SEEN = ChatMessage("user", "Look.", pictures=(Picture("image/jpeg", "QUJD"),))


def test_a_picture_is_a_part_behind_the_text() -> None:
    (message,) = messages_data((SEEN,), "openai/gpt")
    assert message["content"] == [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
    ]


def test_the_mark_for_a_cache_is_at_the_last_part() -> None:
    (message,) = messages_data((ChatMessage("user", "Look.", True, SEEN.pictures),), "anthropic/claude")
    assert ["cache_control" in part for part in message["content"]] == [False, True]


def test_a_request_with_pictures_is_the_same_behind_the_socket() -> None:
    request = CompletionRequest((ChatMessage("system", "s"), SEEN))
    assert request_from(asdict(request)) == request


@pytest.mark.parametrize(
    ("model", "sees"), [("openai/gpt-4o", True), ("openai/gpt-3.5-turbo", False), ("openai/of-my-own", None)]
)
def test_what_a_model_sees_stands_in_the_providers_data(model: str, sees: bool | None) -> None:
    assert ListedPrice.of(model).sees is sees


class Known:
    def __init__(self, known: bool | None) -> None:
        self._known = known

    async def sees(self) -> bool | None:
        return self._known


@pytest.mark.parametrize(
    ("said", "known", "before", "after"),
    [
        (None, None, True, False),
        (None, True, True, True),
        (None, False, False, False),
        (True, False, True, True),
        (False, True, False, False),
    ],
)
async def test_settings_know_best_then_data_then_what_a_refusal_teaches(
    said: bool | None, known: bool | None, before: bool, after: bool
) -> None:
    sight = Sight(Known(known), said)
    assert await sight.sees() is before
    sight.refused()
    assert await sight.sees() is after


class Named:
    def __init__(self, name: str) -> None:
        self._name = name

    async def warm_up(self) -> None:
        """Nothing."""

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        yield self._name


async def test_who_answers_depends_on_what_is_asked_for() -> None:
    provider = ByPurpose(Named("main"), {DESCRIBE: Named("vision")})
    for purpose, name in (("execute", "main"), (DESCRIBE, "vision")):
        assert [part async for part in provider.answer(CompletionRequest((SEEN,), purpose))] == [name]
    assert await provider.sees() is None
