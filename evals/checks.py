"""Whether a run was right, and if not, why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from evals.record import Record
from evals.talks import Call, Expected, Line, Talk, read_call

_MISSING = object()


def problems(talk: Talk, record: Record) -> list[str]:
    """What was not as the talk demands, a sentence each; none where the run was right."""
    return [
        *_end(talk.expect, record),
        *_opening(talk.expect, record),
        *_words(talk.expect, record),
        *_answers(talk.lines, record),
        *_calls(talk.expect, record),
        *_variables(talk.expect, record),
    ]


def _end(expected: Expected, record: Record) -> Iterator[str]:
    if record.how not in ("ended", "waiting"):
        yield f"{record.how}: {record.why}"
    elif expected.ends is True and record.how != "ended":
        yield "it did not end"
    elif expected.ends is False and record.how == "ended":
        yield "it ended"
    if record.how == "ended" and record.unsaid:
        yield f"it ended before anybody said {record.unsaid[0]!r}"
    if record.replies_left:
        yield f"the model was not asked for {record.replies_left} of the scripted replies"
    if expected.max_messages is not None and len(record.shown) > expected.max_messages:
        yield f"people saw {len(record.shown)} messages, at most {expected.max_messages} are allowed"


def _opening(expected: Expected, record: Record) -> Iterator[str]:
    seen = _seen_after(0, record)
    for pattern in expected.opens:
        if _search(pattern, seen) is None:
            yield f"it did not begin with /{pattern}/"


def _words(expected: Expected, record: Record) -> Iterator[str]:
    seen = "\n".join(shown.text for shown in record.shown)
    position = 0
    for pattern in expected.said:
        found = _search(pattern, seen, position)
        if found is None:
            later = "" if position == 0 or _search(pattern, seen) is None else " at its place in the order"
            yield f"nobody said /{pattern}/{later}"
        else:
            position = found.end()
    for pattern in expected.said_anywhere:
        if _search(pattern, seen) is None:
            yield f"nobody said /{pattern}/"
    for pattern in expected.never:
        if (found := _search(pattern, seen)) is not None:
            yield f"somebody said {found[0]!r}, which /{pattern}/ forbids"
    speakers = {shown.speaker for shown in record.shown if shown.text.strip()}
    for agent in expected.spoke:
        if agent not in speakers:
            yield f"{agent} said nothing"


def _answers(lines: list[Line], record: Record) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        seen = _seen_after(number, record)
        for pattern in line.answered:
            if _search(pattern, seen) is None:
                yield f"{line.text!r} was not answered with /{pattern}/"
        for pattern in line.never:
            if (found := _search(pattern, seen)) is not None:
                yield f"{line.text!r} was answered with {found[0]!r}, which /{pattern}/ forbids"


def _seen_after(line: int, record: Record) -> str:
    """What people saw when they had said so many lines, and no more."""
    return "\n".join(shown.text for shown in record.shown if shown.line == line)


def _calls(expected: Expected, record: Record) -> Iterator[str]:
    if expected.called is not None:
        wanted = [read_call(text) for text in expected.called]
        fits = len(wanted) == len(record.calls) and all(map(_is, wanted, record.calls))
        if not fits:
            yield f"called {_listed(record.calls)} instead of {_listed(wanted)}"
    for text in expected.never_called:
        for call in record.calls:
            if call.playbook == text or ("(" in text and _is(read_call(text), call)):
                yield f"called {call}"


def _variables(expected: Expected, record: Record) -> Iterator[str]:
    for name, wanted in expected.variables.items():
        value = _value(record, name)
        if value is _MISSING:
            yield f"${name} was never set"
        elif not _same(wanted, value):
            yield f"${name} is {value!r} instead of {wanted!r}"
    for name, pattern in expected.variables_match.items():
        value = _value(record, name)
        if value is _MISSING:
            yield f"${name} was never set"
        elif re.fullmatch(pattern, str(value), re.IGNORECASE | re.DOTALL) is None:
            yield f"${name} is {value!r}, which /{pattern}/ does not match"


def _search(pattern: str, text: str, position: int = 0) -> re.Match[str] | None:
    return re.compile(pattern, re.IGNORECASE).search(text, position)


def _is(wanted: Call, call: Call) -> bool:
    if wanted.agent not in ("", call.agent) or wanted.playbook != call.playbook:
        return False
    return _same(dict(wanted.arguments), dict(call.arguments))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same type all the way down: 1 is neither "1", 1.0 nor true."""
    return _written(one) == _written(other)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _value(record: Record, name: str) -> Any:
    agent, _, variable = name.rpartition(".")
    return record.variables.get(agent or record.first_agent, {}).get(variable, _MISSING)


def _listed(calls: list[Call]) -> str:
    return ", ".join(map(str, calls)) or "nothing"
