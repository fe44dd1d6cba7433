"""Pictures in requests: how they travel, who gets them, and whether a model takes any."""

from contextlib import AbstractAsyncContextManager

import pytest
from msgspec import convert

from runtime.core.json_text import plain_data
from runtime.llm.client import (
    DESCRIBE,
    ChatMessage,
    CompletionRequest,
    LLMClient,
    ModelCompletion,
    PromptPicture,
    VisionRecord,
)
from runtime.llm.models import ModelRegistry
from runtime.llm.worker.openai_server import ListedPrice, messages_data

SEEN = ChatMessage("user", "Look.", pictures=(PromptPicture("image/jpeg", "QUJD"),))


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
    assert convert(plain_data(request), CompletionRequest) == request


@pytest.mark.parametrize(
    ("model", "sees"), [("openai/gpt-4o", True), ("openai/gpt-3.5-turbo", False), ("openai/of-my-own", None)]
)
def test_what_a_model_sees_stands_in_the_providers_data(model: str, sees: bool | None) -> None:
    assert ListedPrice.of(model).sees is sees


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
    sight = VisionRecord(Named("test", known), said)
    assert await sight.sees() is before
    sight.refused()
    assert await sight.sees() is after


class Named(LLMClient):
    """A client that knows what its model sees."""

    def __init__(self, model: str, known: bool | None) -> None:
        self.model = model
        self._known = known

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        return self._known

    def stream(self, request: CompletionRequest, /) -> AbstractAsyncContextManager[ModelCompletion]:
        raise AssertionError(f"nothing is asked here: {request}")


async def test_each_model_has_its_own_sight_and_what_describes_is_a_model_of_its_own() -> None:
    models = ModelRegistry(
        {"default": Named("blind", False), "fast": Named("new", None), "vision": Named("eyes", True)}
    )
    sight = VisionRecord(models)
    assert [await sight.sees(purpose) for purpose in ("execute", "decide", DESCRIBE)] == [False, True, True]
    sight.refused("decide")
    assert [await sight.sees(purpose) for purpose in ("execute", "decide", DESCRIBE)] == [False, False, True]
