"""Memories in a process that serves conversations, and where people ask for them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gateway.feature import FeatureGround, ServingGround
from gateway.features.memories.books import Memories
from gateway.features.memories.command import OFF_TABLE, MemoryCommand, RecordedSilence, remembers
from gateway.features.memories.meanings import Meanings
from gateway.features.memories.session import NodeMemories
from gateway.inbound.entrance import CarryOut
from gateway.models.answers import counted
from gateway.settings.tree import Settings
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import LLMError
from runtime.events.frames import LLMBrokeOff
from runtime.events.happening import Tell
from runtime.language.program import Program
from runtime.llm.client import EMBED, ChatMessage, CompletionRequest, LLMClient
from runtime.storage.memory.memories import MemoryMemories
from runtime.storage.redis.memories import RedisMemories
from runtime.storage.redis.records import RedisRecords
from runtime.voice.listener import Payer

PAUSE_S: Final = 60.0
"""After a failure the model is left alone for so long: every question would wait for it."""


class ModelEmbedder:
    """Implements `Embedder` by the model for meanings."""

    def __init__(
        self,
        llm: LLMClient,
        may_ask: Callable[[Address, str | None], Awaitable[str | None]],
        tell: Tell,
        clock: Clock,
    ) -> None:
        self._llm = llm
        self._may_ask = may_ask
        self._tell = tell
        self._clock = clock
        self._rests_until_s = 0.0

    @property
    def model(self) -> str:
        return self._llm.model

    async def embed(self, texts: Sequence[str], payer: Payer, /) -> Sequence[bytes] | None:
        begun_s = self._clock.monotonic()
        if begun_s < self._rests_until_s or await self._may_ask(payer.address, payer.person) is not None:
            return None
        request, said = CompletionRequest(tuple(ChatMessage("user", text) for text in texts), EMBED), ""
        try:
            async with self._llm.stream(request) as completion:
                async for piece in completion:
                    said += piece
                usage = completion.usage
            vectors = [base64.b64decode(line, validate=True) for line in said.split()]
        except (LLMError, binascii.Error) as error:
            self._failed(error, begun_s, payer)
            return None
        self._tell(counted(self._llm, EMBED, usage, self._clock.monotonic() - begun_s, payer))
        return vectors if len(vectors) == len(texts) else None

    def _failed(self, error: Exception, begun_s: float, payer: Payer) -> None:
        now_s = self._clock.monotonic()
        self._rests_until_s = now_s + PAUSE_S
        what = f"{type(error).__name__}: {error}"
        self._tell(LLMBrokeOff(payer.session, "", "", "", self._llm.model, EMBED, what, now_s - begun_s))


def memories_in(ground: FeatureGround) -> Memories:
    """What the programs remember of people. Raises ConfigError for a program that says neither yes nor no."""
    own, routes, programs = ground.settings.memory, ground.routes, ground.programs
    remembers(programs, routes.memory, otherwise=own.on)
    silence = RecordedSilence(RedisRecords(ground.connection, OFF_TABLE))

    def on(program: str) -> bool | None:  # a reload changes them
        return remembers(programs, routes.memory, otherwise=own.on).get(program)

    return Memories(RedisMemories(ground.connection), ground.clock, on, silence, own.limits)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeMemories:
    """The memories of this node's conversations, found by what they mean where a model tells meanings."""
    sense = None if serving.models is None else serving.models.service(EMBED)
    if sense is None:
        return NodeMemories(memories_in(ground))
    embedder = ModelEmbedder(sense, serving.limits.allowance, ground.bus.publish, ground.clock)
    meanings = Meanings(RedisMemories(ground.connection), embedder, ground.settings.memory.alike)
    return NodeMemories(memories_in(ground), meanings)


def command_in(ground: FeatureGround) -> CarryOut:
    """What answers /memory."""
    return MemoryCommand(memories_in(ground)).answer


class _Nobody:
    """Nobody has turned memory off, and nobody can. Implements `Silence`."""

    async def holds(self, _program: str, _person: str, /) -> bool:
        return False

    async def begin(self, program: str, person: str, /) -> None:
        """Talks have no such command."""

    async def end(self, program: str, person: str, /) -> None:
        """Talks have no such command."""


def tried(settings: Settings, program: Program, clock: Clock) -> NodeMemories:
    """The memories of a session that is held in memory alone."""
    on = remembers({program.name: program}, {}, otherwise=settings.memory.on)
    return NodeMemories(Memories(MemoryMemories(), clock, on.get, _Nobody(), settings.memory.limits))
