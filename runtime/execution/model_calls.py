"""Calls of the model for one frame: allowed first, told of, and accounted to the person who caused them."""

from __future__ import annotations

from runtime.core.errors import PlaybookError
from runtime.execution.frame import Frame
from runtime.execution.machine import Machine
from runtime.llm.client import CompletionRequest, Usage


class ModelCalls:
    """What every call of the model needs besides its prompt."""

    def __init__(self, machine: Machine, frame: Frame) -> None:
        self._machine = machine
        self._frame = frame

    @property
    def _person(self) -> str | None:
        return self._frame.agent.person or self._machine.journal.state.person

    async def allowed(self) -> bool:
        """Whether the model may be called now."""
        return await self._machine.may_ask(self._person) is None

    async def begin(self) -> None:
        """The model is about to be called. Raises PlaybookError with the sentence why it may not be."""
        refused = await self._machine.may_ask(self._person)
        if refused is not None:
            raise PlaybookError(refused)
        self.publish("llm.requested", model=self._machine.llm.model)

    def end(self, usage: Usage) -> None:
        """It has answered."""
        self.publish(
            "llm.answered",
            tokens_in=usage.input_tokens,
            tokens_out=usage.output_tokens,
            tokens_cached=usage.cached_tokens,
            cost_usd=usage.cost_usd,
            conversation=self._machine.pages.address.key,
            participant_id=self._person,
        )

    async def text(self, request: CompletionRequest) -> str:
        """The whole answer to one question. Raises LLMError, and PlaybookError when the model may not be called."""
        await self.begin()
        text = ""
        with self._machine.pages.presence.working(self._frame.state.agent, None):
            async with self._machine.llm.stream(request) as completion:
                async for piece in completion:
                    text += piece
                usage = completion.usage
        self.end(usage)
        return text

    def publish(self, name: str, **data: object) -> None:
        """Tell of something that the frame does."""
        self._machine.bus.publish(
            name,
            session_id=self._machine.journal.session,
            agent_id=self._frame.state.agent,
            playbook=self._frame.state.playbook,
            **data,
        )
