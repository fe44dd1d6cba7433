"""Memories in a process that serves conversations, and where people ask for them."""

from __future__ import annotations

from gateway.feature import FeatureGround, ServingGround
from gateway.features.memories.books import Memories
from gateway.features.memories.command import OFF_TABLE, MemoryCommand, RecordedSilence, remembers
from gateway.features.memories.embedding import ModelEmbedder
from gateway.features.memories.meanings import Meanings
from gateway.features.memories.session import NodeMemories
from gateway.inbound.entrance import CarryOut
from gateway.settings.tree import Settings
from runtime.core.clock import Clock
from runtime.language.program import Program
from runtime.llm.client import EMBED
from runtime.storage.memory.memories import MemoryMemories
from runtime.storage.redis.memories import RedisMemories
from runtime.storage.redis.records import RedisRecords


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
    embedder = ModelEmbedder(sense, serving.allowance, ground.bus.publish, ground.clock)
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
