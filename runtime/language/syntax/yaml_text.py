"""YAML in a program's lines, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import yaml

from runtime.language.diagnostics import DiagnosticList, SourceLine

_MOST_VALUES = 100_000
_MOST_LEVELS = 20


def is_key(text: str) -> bool:
    """Whether a line begins with a key: `name: value`."""
    key, colon, value = text.partition(":")
    return colon != "" and not value[:1].strip() and key.replace("-", "_").isidentifier()


def load_mapping(lines: Sequence[SourceLine], problems: DiagnosticList) -> dict[str, Any]:
    """The mapping these lines spell; {} when they are empty or, with a problem noted, wrong.

    Keys are strings; values are str, int, float, bool, None, lists and mappings of them (dates become text).
    """
    try:
        value = yaml.safe_load("\n".join(line.text for line in lines))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        row = min(mark.line, len(lines) - 1) if mark else 0
        column = mark.column + 1 if mark and mark.line == row else 1
        problems.at(lines[row], f"this is not YAML: {error.problem or error.context}", column=column)
        return {}
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, OverflowError) as error:
        problems.at(lines[0], f"this is not YAML: {str(error).splitlines()[0] if str(error) else 'too deeply nested'}")
        return {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.at(lines[0], "expected `key: value` lines")
        return {}
    try:
        plain = _plain(value, 0, count(1))
    except OverflowError:
        problems.at(lines[0], f"this YAML has more than {_MOST_VALUES:,} values")
        return {}
    assert isinstance(plain, dict)
    return plain


def _plain(value: object, depth: int, counted: Iterator[int]) -> Any:
    """A value as plain data. Raises OverflowError for too many values, since a few lines can refer to each other
    repeatedly.
    """
    if depth > _MOST_LEVELS:
        return "…"
    if next(counted) > _MOST_VALUES:
        raise OverflowError
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1, counted) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth + 1, counted) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
