"""What is said of a request that litellm itself refuses, before anybody is asked."""

from types import ModuleType
from typing import Any, NoReturn

import pytest

from runtime.core.errors import LLMError
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions
from runtime.llm.worker import library
from runtime.llm.worker.library import LiteLLMProvider


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "litellm.BadRequestError: LLM Provider NOT provided. Pass in the LLM provider. You passed model=gpt4",
            'The model "gpt4" names no known provider; write provider/model, such as openai/',
        ),
        (
            "litellm.InternalServerError: InternalServerError: OpenAIException - Missing credentials. Please pass an",
            "There is no key for gpt4; set its provider's variable, such as OPENAI_API_KEY",
        ),
    ],
)
async def test_it_says_what_to_write(monkeypatch: pytest.MonkeyPatch, said: str, told: str) -> None:
    async def refused(**_: Any) -> NoReturn:
        raise RuntimeError(said)

    litellm = ModuleType("litellm")
    monkeypatch.setattr(litellm, "acompletion", refused, raising=False)
    monkeypatch.setattr(library, "_import_litellm", lambda: litellm)
    answer = LiteLLMProvider(ModelOptions("gpt4")).answer(CompletionRequest((ChatMessage("user", "Hi"),)))
    with pytest.raises(LLMError) as failure:
        await anext(answer)
    assert str(failure.value).startswith(told)
