"""A server on loopback that tells what texts mean by OpenAI's protocol.

https://platform.openai.com/docs/api-reference/embeddings: it refuses an empty list, an empty text, and more than 2,048
texts.
"""

import json
from collections.abc import Sequence
from typing import Any

from anyio.abc import SocketStream

from tests.fakes.models.meanings import vector_of
from tests.fakes.models.openai_server import OpenAIServer, Script, _send_json

_MOST_TEXTS = 2_048


class EmbeddingServer(OpenAIServer):
    """`embedded` are the requests. `body` is sent in place of vectors, with `status`; `holds` waits for `release`."""

    def __init__(self, script: Script = ()) -> None:
        super().__init__(script)
        self.embedded: list[dict[str, Any]] = []
        self.body: Any = None
        self.embedding_status = 200
        self.holds = False

    @property
    def texts(self) -> Sequence[str]:
        """All texts that were sent."""
        return [text for asked in self.embedded for text in asked["input"]]

    async def _respond(
        self, stream: SocketStream, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        if (method, path) != ("POST", "/v1/embeddings"):
            await super()._respond(stream, method, path, headers, body)
            return
        asked = json.loads(body)
        self.headers.append(headers)
        self.embedded.append(asked)
        self._note()
        if self.holds:
            await self._hold()
        texts = asked["input"]
        if not 0 < len(texts) <= _MOST_TEXTS or not all(texts):
            await _send_json(stream, 400, {"error": {"message": "'$.input' is invalid.", "type": "invalid_request"}})
        elif self.body is not None:
            await _send_json(stream, self.embedding_status, self.body)
        else:
            await _send_json(stream, 200, _answer(asked["model"], texts))


def _answer(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """The vectors, the last one first: `index` says whose each is."""
    found = [
        {"object": "embedding", "index": index, "embedding": [n / 128 for n in memoryview(vector_of(text)).cast("b")]}
        for index, text in enumerate(texts)
    ]
    used = sum(map(len, texts))
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": found[::-1], "model": model, "usage": usage}
