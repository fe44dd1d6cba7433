"""Voices in a process that serves conversations, and the command about them."""

from __future__ import annotations

from gateway.feature import EntrancePart, FeatureGround, ServingGround, TriedGround
from gateway.features.voice.listening import ModelListener
from gateway.features.voice.session import NodeVoices
from gateway.features.voice.speaking import VOICE_TABLE, ModelSpeaker, VoiceCommand
from gateway.outbound.file_source import NodeFileAccess
from runtime.llm.client import SPEAK, TRANSCRIBE
from runtime.llm.models import SERVICES
from runtime.storage.redis.records import RedisCounters, RedisRecords


def entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    speaks = SERVICES[SPEAK] in ground.settings.models
    return EntrancePart({"voice": VoiceCommand(RedisRecords(ground.connection, VOICE_TABLE), speaks=speaks).answer})


def tried(ground: TriedGround) -> NodeVoices | None:
    return None if ground.files is None else NodeVoices(NodeFileAccess({}, ground.files))


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeVoices:
    """The voices of this node's conversations, with who puts recordings into words and who speaks, where models do."""
    models, own, tell, listener, speaker = serving.models, ground.settings.voice, ground.bus.publish, None, None
    if models is not None and (ear := models.service(TRANSCRIBE)) is not None:
        listener = ModelListener(
            *(ear, serving.files, RedisCounters(ground.connection), own.limits, serving.limits.allowance),
            lambda platform: serving.texts.get(platform, ground.texts),
            tell,
            ground.clock,
        )
    if models is not None and (mouth := models.service(SPEAK)) is not None:
        records = RedisRecords(ground.connection, VOICE_TABLE)
        speaker = ModelSpeaker(mouth, records, own.spoken_chars, serving.limits.allowance, tell, ground.clock)
    return NodeVoices(serving.files, listener, speaker)
