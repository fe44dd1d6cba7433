"""Voices, as the composition root opens them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.inbound.entrance import CarryOut
from gateway.settings.tree import Settings
from gateway.voice.listening import ModelListener
from gateway.voice.speaking import VOICE_TABLE, ModelSpeaker, VoiceCommand
from runtime.llm.client import SPEAK, TRANSCRIBE
from runtime.llm.models import SERVICES, Models
from runtime.llm.whisper.models import folder_of
from runtime.sessions.node_context import NodeContext
from runtime.storage.embedded.data_directory import prepare
from runtime.storage.redis.records import RedisCounters, RedisRecords

if TYPE_CHECKING:
    from runtime.storage.redis.client.connection import RedisConnection


def voice_command(settings: Settings, connection: RedisConnection) -> CarryOut:
    """What answers /voice."""
    return VoiceCommand(RedisRecords(connection, VOICE_TABLE), speaks=SERVICES[SPEAK] in settings.models).answer


def recorded_s(settings: Settings) -> int:
    """How long a voice note may be that people record in the web chat; 0 where nobody listens to it."""
    return settings.voice.seconds if SERVICES[TRANSCRIBE] in settings.models else 0


def whisper_folder(settings: Settings, size: str) -> Path:
    """Where a model that listens on this machine lies; what is above it is made."""
    return folder_of(prepare(settings.data_dir), size)


def voiced(around: NodeContext, models: Models, settings: Settings, connection: RedisConnection) -> NodeContext:
    """The context with who puts recordings into words and who speaks, where models do."""
    ear, mouth, own, tell = models.service(TRANSCRIBE), models.service(SPEAK), settings.voice, around.bus.publish
    if ear is not None and around.intake is not None:
        listener = ModelListener(
            *(ear, around.intake, RedisCounters(connection), own.limits, around.allowance),
            lambda platform: around.on(platform).texts,
            tell,
            around.clock,
        )
        around = replace(around, listener=listener)
    if mouth is not None:
        records = RedisRecords(connection, VOICE_TABLE)
        speaker = ModelSpeaker(mouth, records, own.spoken_chars, around.allowance, tell, around.clock)
        around = replace(around, speaker=speaker)
    return around
