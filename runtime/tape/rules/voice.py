"""The fold's rules about voices. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.voice import VoiceTranscribed
from runtime.tape.people_state import MAX_VOICES, VoiceState
from runtime.tape.rules.registry import rule
from runtime.tape.state import SessionState


@rule(VoiceTranscribed)
def _transcribed(state: SessionState, _: int, fact: VoiceTranscribed) -> None:
    state.voices[fact.page] = VoiceState(fact.message, fact.person, fact.spoken)
    while len(state.voices) > MAX_VOICES:
        del state.voices[next(iter(state.voices))]
