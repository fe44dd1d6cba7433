"""Probable mistakes in start triggers, and programs that nothing starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from runtime.core.times import read_times
from runtime.language.lint.findings import Finding
from runtime.language.program import AgentSpec, PlaybookSpec, Program, TriggerKind
from runtime.language.trigger_words import speaks_of_people, trigger_kind
from runtime.language.vocabulary.phrase import phrase, words_of

_WORDS = (
    *("beginning", "begins", "starts", "started", "start", "startup", "launch", "launches"),
    *("program", "conversation", "session", "application"),
)
_REPEATED = phrase("repeated time")
_ALONE = phrase("every day or week")
_ANY_TIME, _ANY_ZONE = datetime(2026, 1, 1, tzinfo=UTC), ZoneInfo("UTC")
_SHORTEST = 5
_ENGLISH = tuple(words_of("beginnings"))
"""How a trigger begins; one in another language resembles English words by chance."""


def never_begins(program: Program) -> Iterator[Finding]:
    """A program in which nothing starts and no message starts anything."""
    playbooks = [playbook for agent in program.agents for playbook in agent.playbooks]
    starts = any(one.triggers or one.meeting or one.metadata.get("cli_entry") for one in playbooks)
    if starts or any(agent.standby for agent in program.agents) or not program.agents:
        return
    in_prose = [one for one in playbooks if one.kind == "llm"]
    headings: list[PlaybookSpec | AgentSpec] = [*in_prose, *playbooks, *program.agents]
    first = headings[0]
    hint = "Write ### Triggers with `- At the beginning` below the playbook that is to start it."
    yield Finding(first.span, "nothing starts this program: no playbook has a trigger", hint, first.name)


def misspelt_beginnings(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Triggers that refer to the start with a misspelt word."""
    for trigger in playbook.triggers:
        if trigger.kind is not TriggerKind.BGN and (meant := _beginning(trigger.text)):
            word, text = meant
            message = f"`{trigger.text}` is not understood as the beginning"
            yield Finding(trigger.span, message, f"Did you mean “{text}”?", word)


def misread_times(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Triggers that say when, and that no clock can start: "Every day at 8:00 and 20:00"."""
    for trigger in playbook.triggers:
        repeated = _REPEATED.begins(trigger.text)
        if repeated is None or trigger.kind is TriggerKind.BGN:
            continue
        read = read_times(trigger.text.strip().rstrip("."), _ANY_TIME, _ANY_ZONE)
        if read[2] not in ("", "UTC") if read else not (_ALONE.begins(trigger.text) or speaks_of_people(repeated.rest)):
            hint = "Write each time as a trigger of its own: `Every day at 8:00`."
            yield Finding(trigger.span, "no clock can start this trigger", hint, trigger.text)


def _beginning(text: str) -> tuple[str, str] | None:
    """A misspelt word of a trigger, and the corrected trigger, if that means the start."""
    if not text.lower().startswith(_ENGLISH):
        return None
    for match in re.finditer(r"[A-Za-z]+", text):
        word = match[0]
        if len(word) < _SHORTEST or word.lower() in _WORDS:
            continue
        for near in get_close_matches(word.lower(), _WORDS, n=2, cutoff=0.82):
            meant = text[: match.start()] + near + text[match.end() :]
            if trigger_kind(meant) is TriggerKind.BGN:
                return word, meant
    return None
