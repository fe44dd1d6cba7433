"""The likely cause of a failure, by rules for common errors. Each has two texts: `debug.cause_…` and `debug.try_…`."""

from __future__ import annotations

import re
from collections.abc import Mapping

UNKNOWN = "unknown"
"""The cause of an error that no rule knows."""

_TYPES: Mapping[str, tuple[str, ...]] = {
    "tool_down": ("RemoteUnavailable", "RemoteFault", "ConnectError", "ConnectionError", "ConnectionRefusedError"),
    "tool_failed": ("ToolFailed",),
    "not_allowed": ("NotAllowed", "PermissionError"),
    "outcome_unknown": ("OutcomeUnknown",),
    "late": ("RemoteTimeout", "TimeoutError", "QueueTimeout", "LLMTimeout", "TaskLate"),
    "budget": ("TaskLimit",),
    "model_away": ("LLMUnavailable", "NoModelSet", "LLMRateLimited"),
    "model_refused": ("LLMRefused", "LLMKeyRefused", "LLMNotOffered"),
    "model_unusable": ("NoUsableAnswer", "VerificationError"),
    "too_long": ("ContextTooLong",),
    "program_changed": ("Divergence", "ProgramChanged", "Unjournaled", "ProgramBroken"),
    "not_there": ("KeyError", "IndexError", "NameError", "UnknownTarget", "FileNotFoundError", "AttributeError"),
    "wrong_type": ("TypeError",),
    "arithmetic": ("ZeroDivisionError", "OverflowError"),
    "poison": ("DeadLetter",),
}

_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("arithmetic", re.compile(r"\bdivision by zero\b", re.IGNORECASE)),
    ("budget", re.compile(r"\b(?:budget|limit of|over (?:a|the|its) limit|limits? (?:is|are))\b", re.IGNORECASE)),
    ("late", re.compile(r"\b(?:took longer than|time (?:is|was) over|ran out of time|timed out)\b", re.IGNORECASE)),
    (
        "wrong_type",
        re.compile(r"\b(?:is not an? |must be an? |expected an? |takes an? .*, not |invalid literal)", re.I),
    ),
    ("not_there", re.compile(r"\b(?:there is no|no such|not found|does not exist)\b", re.IGNORECASE)),
)

_OF_TYPE = {name: cause for cause, names in _TYPES.items() for name in names}


def cause_of(error_type: str, text: str) -> str:
    """The cause of an error by its type, else by its text; UNKNOWN where no rule holds."""
    known = _OF_TYPE.get(error_type)
    if known is not None:
        return known
    return next((cause for cause, pattern in _TEXTS if pattern.search(text)), UNKNOWN)
