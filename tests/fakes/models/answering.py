"""A language model that answers from a list."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.core.errors import LLMUnavailable
from runtime.llm.client import CompletionRequest, LLMClient, ModelCompletion, Usage


class PiecedAnswer:
    """One scripted answer in pieces."""

    usage = Usage()

    def __init__(self, text: str) -> None:
        self._text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for start in range(0, len(self._text), 7):
            yield self._text[start : start + 7]


class ListedAnswers(LLMClient):
    """A language model that answers from a list and keeps what it was asked. Without answers it cannot be asked."""

    def __init__(self, *answers: str | PiecedAnswer, model: str = "scripted") -> None:
        self.model = model
        self.asked: list[CompletionRequest] = []
        self._answers = list(answers)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[ModelCompletion]:
        self.asked.append(request)
        if not self._answers:
            raise LLMUnavailable("the line is down")
        answer = self._answers.pop(0)
        yield PiecedAnswer(answer) if isinstance(answer, str) else answer
