"""The fold's rules about voices. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.voice import SpeechMade, SpeechWanted, VoiceSwitched, VoiceTranscribed
from runtime.tape.rules.registry import rule
from runtime.tape.state.session import SessionState
from runtime.tape.state.voice import MAX_VOICES, SpeechState, VoiceState


@rule(VoiceTranscribed)
def _transcribed(state: SessionState, _: int, fact: VoiceTranscribed) -> None:
    heard = state.voices.heard
    known = heard.get(fact.page)  # it is corrected: what quotes it stays
    heard[fact.page] = VoiceState(fact.message, fact.person, fact.spoken, known.parts if known is not None else [])
    while len(heard) > MAX_VOICES:
        del heard[next(iter(heard))]


@rule(VoiceSwitched)
def _switched(state: SessionState, _: int, fact: VoiceSwitched) -> None:
    state.voices.listeners = [person for person in state.voices.listeners if person != fact.person]
    if fact.on:
        state.voices.listeners.append(fact.person)


@rule(SpeechWanted)
def _wanted(state: SessionState, _: int, fact: SpeechWanted) -> None:
    state.voices.speeches[fact.page] = SpeechState(fact.agent, fact.text, fact.place)


@rule(SpeechMade)
def _made(state: SessionState, _: int, fact: SpeechMade) -> None:
    state.voices.speeches.pop(fact.page, None)
    state.voices.fails = not fact.note
