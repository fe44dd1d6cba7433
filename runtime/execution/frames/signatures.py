"""The signatures of the built-in host calls."""

from __future__ import annotations

from math import nan
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.core.message import MessageType
from runtime.execution.frames.frame import Call

SIGNATURES: dict[str, tuple[int, tuple[str, ...]]] = {
    "Step": (1, ("location",)),
    "Trigger": (1, ("code",)),
    "Say": (2, ("target", "message", "ack_within_s")),
    "Ask": (1, ("question", "options", "of", "within_s")),
    "Var": (2, ("name", "value")),
    "Artifact": (3, ("name", "summary", "value")),
    "SaveArtifact": (3, ("name", "summary", "value")),
    "LoadArtifact": (1, ("name",)),
    "LoadFile": (1, ("path", "inline", "silent")),
    "Loadfile": (1, ("path", "inline", "silent")),
    "SendMessage": (2, ("target", "message", "type")),
    "CreateAgent": (1, ("klass",)),
    "IdleAgent": (1, ("klass",)),
    "CallAgent": (2, ("agent", "playbook", "arguments")),
    "WaitForMessage": (1, ("source", "timeout_s", "type")),
    "Sleep": (1, ("seconds",)),
    "Remind": (2, ("when", "text")),
    "Spawn": (2, ("agent", "playbook", "arguments", "within_s", "deliver", "keep")),
    "Result": (1, ("task", "timeout_s")),
    "Tasks": (0, ()),
    "Cancel": (1, ("task",)),
    "Log": (1, ("text",)),
    "Now": (0, ()),
    "Random": (0, ()),
    "ReadFile": (1, ("name", "max_chars")),
    "SendFile": (2, ("name", "content", "text")),
    "Share": (2, ("name", "value", "expected", "meeting")),
    "Shared": (0, ("name", "meeting", "with_version")),
    "EndProgram": (0, ()),
    "InviteToMeeting": (1, ("attendees", "meeting")),
    "EndMeeting": (0, ("meeting",)),
    "LeaveMeeting": (0, ("meeting",)),
    "Yld": (1, ("source",)),
    "Return": (0, ("value",)),
}
"""The number of required arguments of each call, and the names of all, in order."""

BUILT_IN = frozenset(SIGNATURES)
"""Names that nothing else can have: neither what a reply defines nor a variable hides a built-in call."""

TAKE_VARIABLES = frozenset({"CreateAgent", "IdleAgent", "Log"})
"""Calls that take any further names: variables of an agent that is made, values of a line."""


FORMS = {"Say": 'Say("user", "the text")'}
"""The forms of calls that are often written wrongly."""


def as_written(name: str) -> str:
    """A call's form, to follow the description of an error; empty for calls that need none."""
    return f"; it is called as {FORMS[name]}" if name in FORMS else ""


_MAX_TYPE_CHARS = 60

LONGEST_WAIT_S = 10 * 366 * 86_400.0
"""Ten years: what is to be waited for longer than that is a mistake."""


def seconds_of(call: Call, value: Any) -> float:
    """A time that a call was given, in seconds. Raises PlaybookError."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = nan
    if not seconds <= LONGEST_WAIT_S:
        raise PlaybookError(f"{call.name} takes a time in seconds, at most {LONGEST_WAIT_S:.0f}, not {value!r}")
    return max(0.0, seconds)


def call_arguments(call: Call, *names: str, optional: int = 0) -> list[Any]:
    """The values of a call's parameters in order, None for optional ones that are missing. Raises PlaybookError."""
    missing_last = len(names) - len(call.args)
    if not call.kwargs and 0 <= missing_last <= optional:
        return [*call.args, *(None,) * missing_last]
    if len(call.args) > len(names):
        raise PlaybookError(f"{call.name} takes {', '.join(names)}; it was given {len(call.args)} arguments")
    given = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
    unknown = sorted(set(given) - set(names))
    required = names[: len(names) - optional]
    missing = [name for name in required if name not in given]
    if unknown or missing:
        what = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
        form = as_written(call.name) or f"; it takes {', '.join(names)}"
        raise PlaybookError(f"{call.name} {what}{form}")
    return [given.get(name) for name in names]


def own_type(given: Any) -> str:
    """The type of a message that programs made up. Raises PlaybookError for one of Parley's, and for no name."""
    if not isinstance(given, str) or not _is_type(given):
        raise PlaybookError(f"the type of a message is a name such as 'status_update', not {given!r}")
    if given in set(MessageType):
        raise PlaybookError(f"the type {given!r} is one that only Parley gives; choose another name")
    return given


def _is_type(text: str) -> bool:
    return text.isascii() and text.isidentifier() and text == text.lower() and len(text) <= _MAX_TYPE_CHARS
