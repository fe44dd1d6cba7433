"""The last utterances in a playbook, recorded as they happen, for the frame that continues after it."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.core.foreign_text import foreign_line, foreign_lines, foreign_name
from runtime.core.message import Message, MessageType
from runtime.core.prompt_forms import Form
from runtime.tape.state.frames import FrameState

SUMMARY = "__"
"""The variable that tells a caller what happened in the playbook that it called last."""

MAX_UTTERANCES = 8
"""The number of last utterances that are told."""

MAX_UTTERANCE_CHARS = 120

MAX_SPEAKER_CHARS = 40

MAX_SUMMARY_CHARS = 1_500
"""The length of the account of a call for its caller."""

Talk = list[tuple[str, str]]
"""Utterances: who speaks, and the words."""

_WORDS = frozenset({MessageType.DIRECT, MessageType.MEETING_BROADCAST, MessageType.CHOICE})
"""Messages that are somebody's words."""


def said_by(speaker: str, text: str) -> Talk:
    """An utterance; none for an empty text."""
    words = _shortened(text, MAX_UTTERANCE_CHARS)
    return [(_shortened(speaker, MAX_SPEAKER_CHARS), words)] if words else []


def keep_said(frame: FrameState, speaker: str, text: str, to: str | None = None) -> None:
    """Somebody said something in a frame, perhaps to another agent alone."""
    speaker = f"{speaker} to {to}" if to is not None and to.startswith("agent ") else speaker
    frame.talk = last_of([*frame.talk, *said_by(speaker, text)])


def keep_heard(frame: FrameState, messages: Iterable[Message]) -> None:
    """A frame has taken messages."""
    for message in messages:
        if message.type in _WORDS:
            keep_said(frame, speaker_of(message), message.content)


def speaker_of(message: Message) -> str:
    """The speaker's displayed name."""
    return message.sender_name or ("user" if message.from_human else message.sender_class)


def hand_on(frame: FrameState, above: FrameState | None, did: str | None) -> None:
    """Hand what happened in a frame that is no more to the one that called it: what was said there, when it is the same
    agent's, and for a model what it `did`."""
    if above is None:
        return
    if above.agent == frame.agent:
        above.talk = last_of([*above.talk, *frame.talk])
    if did and above.at is not None:
        above.notes.append(
            f"{Form.INSIDE.format(name=frame.playbook)} {_shortened(foreign_lines(did), MAX_SUMMARY_CHARS)})"
        )


def last_of(talk: Talk) -> Talk:
    """The retained utterances: those that are told, and one more as a sign that there were more."""
    return talk[-MAX_UTTERANCES - 1 :]


def told(talk: Talk) -> str:
    """The last utterances on one line; empty without any."""
    said = [f"{foreign_name(speaker)}: “{foreign_line(words)}”" for speaker, words in talk[-MAX_UTTERANCES:]]
    return " ".join(["…", *said] if len(talk) > MAX_UTTERANCES else said)


def past_of(talk: Talk) -> list[dict[str, str]]:
    """The utterances before a frame without a caller, which start its transcript."""
    return [{"heard": f"{Form.SAID_BEFORE} {told(talk)})", "said": ""}] if talk else []


def _shortened(text: str, max_chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"
