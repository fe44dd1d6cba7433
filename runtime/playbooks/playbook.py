"""The port of a playbook, which is called by name and runs as a frame; playbooks in natural language, and meetings.

Types of an author's Python that JSON does not have (dates, times, exact numbers and choices) are texts in facts and
prompts, and themselves in the author's code.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

from runtime.core.errors import PlaybookError, ProgramChanged
from runtime.execution.frames.frame import Bound, Frame, shortened
from runtime.execution.frames.signatures import CallShape
from runtime.language.pbasm.versions import FrameVersion, stands_on
from runtime.language.program import Param, PlaybookSpec
from runtime.language.value_types import coerced
from runtime.tape.journal import as_data

_EXAMPLES: Mapping[Any, str] = {
    date: "a date such as 2026-05-01",
    datetime: "a time such as 2026-05-01T09:30",
    time: "a time of day such as 09:30",
    Decimal: "a number such as 12.50",
}

_QUOTED_AT_MOST = 2
"""An annotation in quotes is a text within a text where the author postpones all annotations."""


def as_text(value: Any, depth: int = 50) -> Any:
    """A value with texts in place of what JSON does not have, down to a depth."""
    if not depth:
        return value
    match value:
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Enum():
            return as_text(value.value, depth - 1)
        case list() | tuple():
            return [as_text(one, depth - 1) for one in value]
        case dict():
            return {key: as_text(one, depth - 1) for key, one in value.items()}
    return value


class OwnTypes:
    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        named = inspect.signature(function).parameters.values()
        self._types = {one.name: _annotation(one.annotation, function) for one in named}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises PlaybookError for a text that is no such value."""
        return {name: self._read(name, value) for name, value in values.items()}

    def _read(self, param: str, value: Any) -> Any:
        try:
            return _of(self._types.get(param), value)
        except (ValueError, InvalidOperation) as error:
            wanted = _told(self._types[param])
            raise PlaybookError(f"{self._name} takes {param} as {wanted}, not {shortened(repr(value))}") from error


def _annotation(annotation: Any, function: Callable[..., Any]) -> Any:
    """An annotation that may be written as a text; None for one that nobody knows."""
    names = inspect.unwrap(function).__globals__
    for _ in range(_QUOTED_AT_MOST):
        if not isinstance(annotation, str):
            break
        try:
            annotation = eval(annotation, names)  # noqa: S307 - trusted code of the author
        except Exception:  # noqa: BLE001 - a type that is only named is none that a value is held to
            return None
    return annotation


def _of(annotation: Any, value: Any) -> Any:
    """A value as one of the annotated type. Raises ValueError or InvalidOperation."""
    outer, inner = get_origin(annotation), get_args(annotation)
    if value is None:
        return None
    if outer in (Union, types.UnionType):
        return _one_of(inner, value)
    if outer is Annotated:
        return _of(inner[0], value)
    if outer is list and inner and isinstance(value, list):
        return [_of(inner[0], one) for one in value]
    if outer is dict and inner and isinstance(value, dict):
        return {key: _of(inner[1], one) for key, one in value.items()}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _member(annotation, value)
    return _from_text(annotation, value) if isinstance(annotation, type) and annotation in _EXAMPLES else value


def _from_text(annotation: Any, value: Any) -> Any:
    if isinstance(value, str) and annotation is not Decimal:
        return annotation.fromisoformat(value.strip())
    if annotation is Decimal and isinstance(value, str | int | float) and not isinstance(value, bool):
        found = Decimal(str(value).strip())
        if found.is_finite():
            return found
    raise ValueError(value)


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    """A value as the first alternative that it is; as it stands where a plain type is another. Raises ValueError."""
    own = [choice for choice in choices if _told(choice)]
    for choice in own:
        with suppress(ValueError, InvalidOperation):
            return _of(choice, value)
    if own and not any(isinstance(value, one) for one in choices if isinstance(one, type) and one not in own):
        raise ValueError(value)
    return value


def _member(choices: type[Enum], value: Any) -> Enum:
    by_name = {name.casefold(): member for name, member in choices.__members__.items()}
    with suppress(ValueError):
        return choices(value)
    found = by_name.get(str(value).strip().casefold())
    if found is None:
        raise ValueError(value)
    return found


def _told(annotation: Any) -> str:
    """What a parameter takes, in words; "" for a type that JSON has."""
    inner = [told for one in get_args(annotation) if (told := _told(one))]
    if get_origin(annotation) in (list, dict) and inner:
        return f"a {get_origin(annotation).__name__} with {inner[-1]} in each place"
    if inner:
        return " or ".join(inner)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return f"one of {', '.join(str(as_text(member)) for member in annotation)}"
    return _EXAMPLES.get(annotation, "") if isinstance(annotation, type) else ""


def bound(name: str, params: Sequence[Param], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter, as data. Raises PlaybookError that names what does not fit."""
    values = given(name, params, args, kwargs)
    for param in params:
        if param.name not in values:
            values[param.name] = _default(name, param)
    try:
        plain: dict[str, Any] = as_data(as_text(values))
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"an argument of {name} is not data that survives a restart: {error}") from error
    return plain


def given(name: str, params: Sequence[Param], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name. Raises PlaybookError for what does not fit the parameters."""
    names = tuple(param.name for param in params)
    values = {**dict(zip(names, args, strict=False)), **kwargs}
    missing = next((param.name for param in params if param.default is None and param.name not in values), None)
    wrong = CallShape(names, 0).misfit(len(args), tuple(kwargs)) or (missing and f"needs {missing!r}")
    if wrong:
        raise PlaybookError(f"{name} {wrong}")
    return values


def _default(name: str, param: Param) -> Any:
    assert param.default is not None  # a call needs the others
    try:
        return ast.literal_eval(param.default)
    except (ValueError, SyntaxError) as error:
        raise PlaybookError(f"the default of {param.name!r} in {name} is not a plain value: {param.default}") from error


def typed(name: str, params: Sequence[Param], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the declared types of the parameters have them. Raises PlaybookError for one that does not fit."""
    fitting = dict(values)
    for param in params:
        try:
            fitting[param.name] = coerced(values[param.name], param.type or "")
        except ValueError as error:
            given = shortened(repr(values[param.name]))
            raise PlaybookError(f"{name} takes {param.name} as {param.type}, not {given}") from error
    return fitting


def typed_result(name: str, returns: str | None, value: Any) -> Any:
    """The result of a playbook as its declared type has it, as data where it has one. Raises PlaybookError for one that
    does not fit, TypeError or ValueError for one that is no data."""
    value = as_text(value)
    if returns is None:
        return value
    data = as_data(value)
    try:
        return coerced(data, returns)
    except ValueError as error:
        raise PlaybookError(f"{name} returns {returns}, not {shortened(repr(data))}") from error


def state_values(params: Sequence[Param], values: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of the agent that a call sets: its parameters written with `$`."""
    return {param.name: values[param.name] for param in params if param.state}


def check_signature(frame: Frame, version: FrameVersion) -> FrameVersion:
    """The version that the frame was begun with. Raises ProgramChanged when it was called in another way."""
    name, begun = frame.state.playbook, FrameVersion.read(frame.state.version)
    if begun.kind != version.kind:
        raise ProgramChanged(f"{name} is being executed here, and is of another kind now ({version.kind})")
    if begun.signature != version.signature:
        raise ProgramChanged(f"{name} is being executed here, and takes other arguments now")
    return begun


class LLMPlaybook:
    """A playbook in English; `execute` executes one of its frames, and raises PlaybookError when it fails."""

    kind = "llm"

    def __init__(self, spec: PlaybookSpec, version: str, execute: Callable[[Frame], Coroutine[Any, Any, Any]]) -> None:
        self.spec = spec
        self.name = spec.name
        self.version = version
        self.run = execute

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        values = typed(self.name, self.spec.params, bound(self.name, self.spec.params, args, kwargs))
        return [], values, state_values(self.spec.params, values)

    async def adopt(self, frame: Frame, /) -> None:
        """The frame's current step, and those that contain it, must be unchanged."""
        now = FrameVersion.read(self.version)
        begun = check_signature(frame, now)
        for line in stands_on(frame.state.step) if frame.state.step else ():
            if begun.steps.get(line) != now.steps.get(line):
                how = "reads differently now" if line in now.steps else "is gone"
                raise ProgramChanged(f"step {line} of {self.name}, at which it is now, {how}")
