"""A program without the model's key asks the model through a gateway."""

from __future__ import annotations

from pathlib import Path

import openai
import pytest

from tests.e2e.gateway_process import gateway
from tests.e2e.tellers import TELLER
from tests.fakes.models.openai_server import OpenAIServer, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TOKEN = "a-token-of-the-asker-in-tests"


async def test_a_client_asks_the_model_of_a_node_and_is_stopped_by_its_budget(tmp_path: Path) -> None:
    (tmp_path / "asker").write_text(TOKEN)
    async with OpenAIServer([Reply("Hello from the model.", chunk_chars=6, hold_after_chars=6)]) as model:
        settings = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_MODEL_API_KEY": "the-key-of-the-model",
            "PARLEY_CLIENTS__ASKER__TOKEN_FILE": str(tmp_path / "asker"),
            "PARLEY_CLIENTS__ASKER__SCOPES": "model:default",
            "PARLEY_CLIENTS__ASKER__MODEL_TOKENS_PER_DAY": "100",
        }
        async with (
            gateway(tmp_path, TELLER, settings) as running,
            openai.AsyncOpenAI(api_key=TOKEN, base_url=f"{running.url}/model/v1", max_retries=0) as sdk,
        ):
            messages: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello."}]
            stream = await sdk.chat.completions.create(model="default", messages=messages, stream=True)
            pieces = []
            async for chunk in stream:
                pieces.append(chunk.choices[0].delta.content or "")
                if "".join(pieces) == "Hello ":  # the rest is written only now
                    model.release()
            assert "".join(pieces) == "Hello from the model."
            with pytest.raises(openai.RateLimitError, match="asker has used its 100 tokens of today"):
                await sdk.chat.completions.create(model="default", messages=messages)
        assert len(model.requests) == 1
        assert model.headers[0]["authorization"] == "Bearer the-key-of-the-model"
