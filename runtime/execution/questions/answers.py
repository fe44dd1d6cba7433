"""Reading answers: forgiving in form, strict in what they come to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from runtime.execution.questions.question import Choice, Question, Understand, Understood, Value, WrongAnswer
from runtime.language.value_types import coerced, fits

MAX_ANSWER_CHARS = 20_000
"""A longer answer to a question for a value or a choice is none."""

_FENCED = re.compile(r"```[\w+-]*\s*\n?(.*?)```", re.DOTALL)
_NOT_GIVEN = re.compile(
    r"(?:null|none|n/?a|not (?:yet )?(?:given|provided|specified|known|mentioned)|unknown|missing|undefined)\.?",
    re.IGNORECASE,
)
_YES = frozenset({"yes", "y", "true", "correct", "yep", "yeah", "1"})
_NO = frozenset({"no", "n", "false", "incorrect", "nope", "0"})


def read_answer(question: Question, text: str) -> Any:
    """The answer that a text is: a dict of values, the name of an outcome, or `Understood`. Raises WrongAnswer."""
    text = text.strip()[:MAX_ANSWER_CHARS]
    if not text:
        raise WrongAnswer("the answer is empty")
    match question:
        case Value():
            return _values(question, text)
        case Choice():
            return _choice(text, question.options)
        case Understand():
            return _understood(question, text)
    return text


def _values(question: Value, text: str) -> dict[str, Any]:
    data = _json(text)
    types = question.types
    if len(types) == 1:
        [(name, kind)] = types.items()
        data = _single(name, kind, data, text)
    if not isinstance(data, Mapping):
        raise WrongAnswer(f"the answer is no JSON object with {_listed(types)}")
    return {name: _typed(name, _found(data, name), kind, question.optional) for name, kind in types.items()}


def _single(name: str, kind: str, data: Any, text: str) -> Any:
    """One value may stand alone, without an object around it."""
    if isinstance(data, Mapping) and _has(data, name):
        return data
    if data == {} and not fits(data, kind):
        return data
    if isinstance(data, Mapping) and "value" in data and len(data) == 1:
        return {name: data["value"]}
    if (
        data is not _NO_JSON
        and (not isinstance(data, Mapping) or fits(data, kind))
        and not (data is None and kind == "str")
    ):
        return {name: data}
    if _NOT_GIVEN.fullmatch(text):
        return {name: None}
    bare = re.sub(rf"\A\$?{re.escape(name)}\s*[:=]\s*", "", text).strip().strip("`\"'").strip()
    if kind in ("", "str", "string") or data is _NO_JSON:
        return {name: bare}
    return {name: data}


def _found(data: Mapping[str, Any], name: str) -> Any:
    for known in (name, f"${name}"):
        if known in data:
            return data[known]
    folded = {str(key).strip("$ ").replace(" ", "_").casefold(): value for key, value in data.items()}
    return folded.get(name.casefold(), _MISSING)


def _has(data: Mapping[str, Any], name: str) -> bool:
    return _found(data, name) is not _MISSING


_MISSING = object()
_NO_JSON = object()


def _typed(name: str, value: Any, kind: str, optional: bool) -> Any:
    if value is _MISSING:
        if optional:
            return None
        raise WrongAnswer(f"{name} is missing")
    if (
        isinstance(value, str)
        and (kind not in ("", "str", "string") or optional)
        and _NOT_GIVEN.fullmatch(value.strip())
    ):
        value = None
    if optional and isinstance(value, str) and not value.strip():
        value = None
    if value is None:
        if optional or "None" in kind or "Optional" in kind:
            return None
        raise WrongAnswer(f"{name} is not given; it needs a value{f' of type {kind}' if kind else ''}")
    if kind in ("bool", "boolean") and isinstance(value, str):
        word = value.strip().casefold().rstrip(".")
        value = True if word in _YES else False if word in _NO else value
    try:
        return coerced(value, kind)
    except ValueError as error:
        raise WrongAnswer(f"{name} {error}") from error


def _choice(text: str, options: Mapping[str, str]) -> str:
    data = _json(text)
    if isinstance(data, Mapping) and len(data) == 1:
        [(name, data)] = data.items()
        option = named(str(name), options)
        if option is not None:  # `{"yes": true}`, `{"no": false}`
            if data is not True:
                raise WrongAnswer(f"the answer is none of {_listed(options)}")
            return option
    if isinstance(data, bool):
        text = "yes" if data else "no"
    elif isinstance(data, str | int):
        text = str(data)
    found = named(text, options)
    if found is None:
        raise WrongAnswer(f"the answer is none of {_listed(options)}")
    return found


def named(text: str, options: Mapping[str, str]) -> str | None:
    """The option that a text names: as a whole, or as its first word."""
    plain = text.strip().strip("`\"'*.!() ").casefold()
    by_name = {option.casefold(): option for option in options}
    if plain in by_name:
        return by_name[plain]
    first = re.split(r"[\s,.:;!\n]+", plain, maxsplit=1)[0]
    if first in by_name:
        return by_name[first]
    if {"yes", "no"} <= by_name.keys():
        return by_name["yes"] if first in _YES else by_name["no"] if first in _NO else None
    starts = [option for folded, option in by_name.items() if re.match(rf"{re.escape(folded)}\b", plain)]
    return starts[0] if len(starts) == 1 else None


def _understood(question: Understand, text: str) -> Understood:
    data = _json(text)
    if not isinstance(data, Mapping):
        does = named(text, question.outcomes)
        if does is None:
            raise WrongAnswer(f'the answer is no JSON object with "does": one of {_listed(question.outcomes)}')
        data = {"does": does}
    said = data.get("does", data.get("outcome"))
    does = named(str(said), question.outcomes) if said is not None else None
    if does is None and said is None and any(_has(data, name) for name in question.types):
        does = "answer"
    if does is None:
        raise WrongAnswer(f'"does" is none of {_listed(question.outcomes)}')
    if does == "answer":
        return Understood(does, {n: _typed(n, _found(data, n), kind, True) for n, kind in question.types.items()})
    if does == "correct":
        known = {n: _typed(n, _found(data, n), kind, True) for n, kind in question.correctable.items() if _has(data, n)}
        changed = {name: value for name, value in known.items() if value is not None}
        if not changed:
            raise WrongAnswer(f"a correction names the value that changes: one of {_listed(question.correctable)}")
        return Understood(does, changed)
    wanted = question.arguments.get(does, {})
    return Understood(does, {n: _typed(n, _found(data, n), kind, True) for n, kind in wanted.items()})


def _json(text: str) -> Any:
    """The JSON value in an answer, whatever stands around it; `_NO_JSON` where there is none."""
    fenced = _FENCED.search(text)
    bare = (fenced[1] if fenced else text).strip()
    for candidate in (bare, _object_in(bare)):
        if candidate:
            try:
                return _loaded(candidate)
            except ValueError:
                continue
    try:
        return _loaded(bare.replace("True", "true").replace("False", "false").replace("None", "null").replace("'", '"'))
    except ValueError:
        return _NO_JSON


def _loaded(text: str) -> Any:
    """JSON of finite numbers and of characters that can be stored. Raises ValueError."""
    try:
        data = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    json.dumps(data, ensure_ascii=False).encode()
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def _object_in(text: str) -> str:
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return ""
    end = max(text.rfind("}"), text.rfind("]"))
    return text[start : end + 1]


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "nothing"
