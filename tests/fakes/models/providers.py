"""Models of a chain whose answers a test gives, and the chain over them."""

from collections.abc import AsyncGenerator

import anyio
from anyio.lowlevel import checkpoint

from runtime.core.clock import Clock
from runtime.core.errors import LLMError
from runtime.events.happening import Tell, unheard
from runtime.llm.answering import AnsweringClient
from runtime.llm.chain import ChainLink, ModelChain, ModelCooldowns
from runtime.llm.client import CompletionRequest, ModelOptions, ModelProvider, Usage

Answer = str | LLMError | tuple[str, LLMError]
"""A text, a failure, or a text that a failure cuts off."""


class ScriptedProvider(ModelProvider):
    """Gives its answers one after the other. With a `gate` it waits for that before each."""

    def __init__(self, *answers: Answer, gate: anyio.Event | None = None) -> None:
        self.answers = list(answers)
        self.asked: list[CompletionRequest] = []
        self.gate = gate

    async def warm_up(self) -> None:
        """Nothing to prepare."""

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        self.asked.append(request)
        if self.gate is not None:
            await self.gate.wait()
        assert self.answers, f"asked too often: {request.messages[-1].content}"
        answer = self.answers.pop(0)
        text, failure = answer if isinstance(answer, tuple) else (answer, None)
        if isinstance(text, LLMError):
            raise text
        for word in text.split(" "):
            await checkpoint()
            yield word if word == text.split(" ")[0] else f" {word}"
        if failure is not None:
            raise failure
        yield Usage(input_tokens=10, output_tokens=2)


def chain_of(
    clock: Clock,
    providers: dict[str, ScriptedProvider],
    on_event: Tell = unheard,
    cooldowns: ModelCooldowns | None = None,
) -> ModelChain:
    """A chain of these models, in order, without time limits that matter."""
    links = [
        ChainLink(name, AnsweringClient(provider, ModelOptions(f"openai/{name}"), clock))
        for name, provider in providers.items()
    ]
    return ModelChain(links, cooldowns or ModelCooldowns(clock), on_event)
