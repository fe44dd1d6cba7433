"""Reading of answers: tolerant of form, strict about content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.core.json_text import begins_json, read_json
from runtime.execution.questions import form
from runtime.language.value_types import coerced, fits
from runtime.language.vocabulary.phrase import phrase
from runtime.sandbox.executor import NotData, as_data

MAX_ANSWER_CHARS = 20_000
"""The longest answer to a question for a value or a choice."""

_FENCED = re.compile(r"```[\w+-]*\s*\n?(.*?)```", re.DOTALL)
_YES = frozenset(
    ("yes", "y", "true", "correct", "yep", "yeah", "1", "ja", "oui", "sí", "sim", "да", "是", "是的", "はい")
)
_NO = frozenset(
    ("no", "n", "false", "incorrect", "nope", "0", "nein", "non", "não", "нет", "否", "不", "不是", "いいえ")
)
"""In other languages too: a model answers in the language of the conversation."""
_DIGITS = frozenset({"1", "0"})
"""Answers only alone: before others they are the numbers of a list."""
_NUMBERED = re.compile(r"[(*]*\d{1,2}[.):*]+\s+(?=\S)")


def read_answer(question: form.Question, text: str) -> Any:
    """The answer that a text is: a dict of values, an outcome's name, or `UnderstandAnswer`. Raises WrongAnswer."""
    text = unfenced(text.strip()[:MAX_ANSWER_CHARS])
    if not text:
        raise form.WrongAnswer("the answer is empty")
    match question:
        case form.ValueQuestion():
            return _values(question, text)
        case form.OutcomeChoice():
            return _choice(text, question.options)
        case form.UnderstandQuestion():
            return _understood(question, text)
    return text


def unfenced(text: str) -> str:
    """A text without the code fence around all of it."""
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _values(question: form.ValueQuestion, text: str) -> dict[str, Any]:
    data = _json(text)
    types = question.types
    if len(types) == 1:
        [(name, kind)] = types.items()
        data = _single(name, kind, data, text)
    if not isinstance(data, Mapping):
        raise form.WrongAnswer(f"the answer is not a JSON object with {_listed(types)}")
    return {name: _typed(name, _found(data, name), kind, question.optional) for name, kind in types.items()}


def _single(name: str, kind: str, data: Any, text: str) -> Any:
    """A single value, which needs no object around it."""
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
    if phrase("not given").begins(text):
        return {name: None}
    if data is _NO_JSON and kind in ("", "str", "string") and begins_json(text):
        raise form.WrongAnswer("the JSON is not complete")
    bare = re.sub(rf"\A\$?{re.escape(name)}\s*[:=]\s*", "", text).strip().strip("`\"'").strip()
    first, *others = bare.splitlines() or [""]
    if others and all(line.strip() == first.strip() for line in others):
        bare = first.strip()  # it answers again and again
    if data is _NO_JSON and kind in _OF_ONE_LINE:
        bare = _line_of(kind, bare)
    return {name: bare} if kind in ("", "str", "string") or data is _NO_JSON else {name: data}


_OF_ONE_LINE = frozenset({"int", "integer", "float", "number", "bool", "boolean"})


def _line_of(kind: str, text: str) -> str:
    """The only line of a text that is a value of this type: "Sure:", "4", "Anything else?". Else the whole text."""
    lines = (_NUMBERED.sub("", line.strip(), count=1).strip(_MARKS) for line in text.splitlines())
    fitting = list(dict.fromkeys(line for line in lines if line and _is_of(line, kind)))
    return fitting[0] if len(fitting) == 1 else text


def _is_of(text: str, kind: str) -> bool:
    if kind.startswith("bool"):
        return text.casefold() in _YES | _NO
    try:
        coerced(text, kind)
    except ValueError:
        return False
    return True


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
        raise form.WrongAnswer(f"{name} is missing")
    if (
        isinstance(value, str)
        and (kind not in ("", "str", "string") or optional)
        and phrase("not given").begins(value.strip())
    ):
        value = None
    if optional and isinstance(value, str) and not value.strip():
        value = None
    if value is None:
        if optional or "None" in kind or "Optional" in kind:
            return None
        raise form.WrongAnswer(f"{name} is not given; it needs a value{f' of type {kind}' if kind else ''}")
    if kind in ("bool", "boolean") and isinstance(value, str):
        word = value.strip().casefold().rstrip(".")
        value = True if word in _YES else False if word in _NO else value
    try:
        as_data(value)
    except NotData as error:
        raise form.WrongAnswer(f"{name} cannot be kept: {error}") from error
    try:
        return coerced(value, kind)
    except ValueError as error:
        raise form.WrongAnswer(f"{name} {error}") from error


def _choice(text: str, options: Mapping[str, str]) -> str:
    data = _json(text)
    if isinstance(data, Mapping) and len(data) == 1:
        [(name, data)] = data.items()
        option = named(str(name), options)
        if option is not None:  # `{"yes": true}`, `{"no": false}`
            if data is not True:
                raise form.WrongAnswer(f"the answer is none of {_listed(options)}")
            return option
    if isinstance(data, bool):
        text = "yes" if data else "no"
    elif isinstance(data, str | int):
        text = str(data)
    found = named(text, options) or _on_a_line(text, options)
    if found is None:
        raise form.WrongAnswer(f"the answer is none of {_listed(options)}")
    return found


def _on_a_line(text: str, options: Mapping[str, str]) -> str | None:
    """The only option that a line of a longer text consists of: "Sure, here it is:", "no", "Anything else?"."""
    by_name = {option.casefold(): option for option in options}
    lines = {line.strip(_MARKS).casefold() for line in text.splitlines()}
    found = [option for folded, option in by_name.items() if folded in lines]
    return found[0] if len(found) == 1 else None


_MARKS = "`\"'*.!() \u3002\uff01"


def _begins(plain: str, name: str) -> bool:
    return plain.startswith(name) and not plain[len(name) : len(name) + 1].replace("_", "a").isalnum()


def named(text: str, options: Mapping[str, str]) -> str | None:
    by_name = {option.casefold(): option for option in options}
    text = text.strip()
    plain = (text if text.casefold() in by_name else _NUMBERED.sub("", text, count=1)).strip(_MARKS).casefold()
    if plain in by_name:
        return by_name[plain]
    first = re.split(r"[\s,.:;!\n\u3002\uff0c\uff01]+", plain, maxsplit=1)[0]
    if first in by_name:
        return by_name[first]
    if {"yes", "no"} <= by_name.keys() and (first not in _DIGITS or first == plain):
        return by_name["yes"] if first in _YES else by_name["no"] if first in _NO else None
    starts = [option for folded, option in by_name.items() if _begins(plain, folded)]
    return starts[0] if len(starts) == 1 else None


_WEAK = frozenset({"other", "repeat", "skip"})
"""Outcomes that do not count beside a value, which is an answer."""

_INSTEAD = re.compile(r"[`\"'{\s]*instead[`\"']*\s*[:=]?\s*[`\"']*([\w.]+)", re.IGNORECASE)


def _understood(question: form.UnderstandQuestion, text: str) -> form.UnderstandAnswer:
    data = _json(text)
    fields: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    does = _outcome(question, text, fields)
    if does == "correct":
        return _correction(question, fields)
    answers_too = does in _WEAK and any(_given(fields, name) for name in question.types)
    if does is not None and does != "answer" and not answers_too:
        wanted = question.arguments.get(does, {})
        return form.UnderstandAnswer(
            does, {name: _typed(name, _found(fields, name), kind, True) for name, kind in wanted.items()}
        )
    if not question.types:
        if does is None:
            raise form.WrongAnswer(f"the answer is none of {_listed(question.outcomes)}")
        return form.UnderstandAnswer("answer", {})
    if does == "answer" and not fields:
        return form.UnderstandAnswer("answer", dict.fromkeys(question.types))
    if isinstance(data, Mapping) and does is None and not any(_has(fields, name) for name in question.types):
        raise form.WrongAnswer(f"the answer has none of {_listed(question.types)}")
    values = _values(form.ValueQuestion(question.key, question.task, question.types, optional=True), text)
    too_long = next((n for n, v in values.items() if isinstance(v, str) and len(v) > question.longest_chars), None)
    if too_long is not None:
        raise form.WrongAnswer(f"{too_long} is longer than what the person wrote; give only what they gave")
    return form.UnderstandAnswer("answer", values)


def _outcome(question: form.UnderstandQuestion, text: str, fields: Mapping[str, Any]) -> str | None:
    said = next((fields[key] for key in ("instead", "does", "outcome") if fields.get(key)), None)
    instead = _INSTEAD.match(text)
    if said is None and instead:
        said = instead[1]
    if said is not None:
        found = named(str(said), question.outcomes)
        if found is None:
            raise form.WrongAnswer(f"{said!r} is none of {_listed(question.outcomes)}")
        return found
    if fields:
        return None
    first = text.strip().strip("`\"'*.!() ")
    if question.types:
        word = min((first.partition(mark)[0] for mark in "-\u2013:("), key=len).rstrip()
        return next((name for name in question.outcomes if name.casefold() == word.casefold()), None)
    return named(text, question.outcomes)


def _given(fields: Mapping[str, Any], name: str) -> bool:
    return _found(fields, name) not in (_MISSING, None, "")


def _correction(question: form.UnderstandQuestion, fields: Mapping[str, Any]) -> form.UnderstandAnswer:
    known = {n: _typed(n, _found(fields, n), kind, True) for n, kind in question.correctable.items() if _has(fields, n)}
    changed = {name: value for name, value in known.items() if value is not None}
    if not changed:
        raise form.WrongAnswer(f"a correction needs JSON with the value that changes: {_listed(question.correctable)}")
    return form.UnderstandAnswer("correct", changed)


def _json(text: str) -> Any:
    """The JSON value in an answer, whatever surrounds it; `_NO_JSON` without one."""
    fenced = _FENCED.search(text)
    bare = (fenced[1] if fenced else text).strip()
    for candidate in (bare, _object_in(bare)):
        if candidate:
            try:
                return read_json(candidate)
            except ValueError:
                continue
    try:
        worded = bare.replace("True", "true").replace("False", "false").replace("None", "null")
        return read_json(worded.replace("'", '"'))
    except ValueError:
        return _NO_JSON


def _object_in(text: str) -> str:
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return ""
    end = max(text.rfind("}"), text.rfind("]"))
    return text[start : end + 1]


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "nothing"
