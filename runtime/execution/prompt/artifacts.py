"""Artifacts: large values with names. The model sees a summary and loads what it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.prompt_forms import foreign_line
from runtime.tape.state.frames import FrameState

ARTIFACT_CHARS = 500
"""The JSON length from which a playbook's result for the model becomes an artifact."""

_SUMMARY_CHARS = 120


def is_large(value: Any) -> bool:
    """Whether the model sees a value only as an artifact."""
    return len(_text(value)) > ARTIFACT_CHARS


def size_bytes(value: Any) -> int:
    return len(_text(value).encode(errors="replace"))


def artifact_name(value: Any) -> str:
    """The name of an unnamed artifact, see `is_unnamed`; it follows from the value."""
    return "a_" + hashlib.sha256(_text(value).encode(errors="replace")).hexdigest()[:8]


def artifact_summary(value: Any) -> str:
    text = value if isinstance(value, str) else _text(value)
    words = " ".join(text[: 2 * _SUMMARY_CHARS].split())
    return words if len(words) <= _SUMMARY_CHARS else words[:_SUMMARY_CHARS] + "…"


def shown_artifact(name: str, value: Any, summary: str | None = None) -> str:
    about = foreign_line(artifact_summary(value) if summary is None else summary)
    shows = f'LoadArtifact("{foreign_line(name)}") shows it'
    return f"artifact of {len(_text(value)):,} characters: {about} [{shows}]"


def kept_result(caller: FrameState | None, value: Any) -> tuple[Sequence[str], Mapping[str, str]]:
    """The additions of a return's fact where a model executes the caller: `$_`, and an artifact."""
    if caller is None or not caller.version.startswith("llm"):
        return (), {}
    if not is_large(value):
        return ("_",), {}
    name = artifact_name(value)
    return ("_", name), {name: artifact_summary(value)}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
