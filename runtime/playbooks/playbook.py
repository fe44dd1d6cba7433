"""The port of a playbook, whatever can be called by name and runs as a frame, and the playbooks in natural language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from runtime.core.errors import PlaybookError, ProgramChanged
from runtime.execution.frames.frame import Frame, shortened
from runtime.language.pbasm.versions import FrameVersion, stands_on
from runtime.language.program import Param, PlaybookSpec
from runtime.language.value_types import coerced
from runtime.playbooks.own_types import as_text
from runtime.tape.journal import as_data


def bound(name: str, params: Sequence[Param], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter, as data. Raises PlaybookError that names what does not fit."""
    if len(args) > len(params):
        raise PlaybookError(f"{name} takes {len(params)} arguments, not {len(args)}")
    values: dict[str, Any] = dict(zip((p.name for p in params), args, strict=False))
    known = {p.name for p in params}
    for key, value in kwargs.items():
        if key not in known:
            raise PlaybookError(f"{name} has no parameter {key!r}; it takes {', '.join(sorted(known)) or 'nothing'}")
        if key in values:
            raise PlaybookError(f"{name} is given {key!r} twice")
        values[key] = value
    for param in params:
        if param.name not in values:
            values[param.name] = _default(name, param)
    try:
        plain: dict[str, Any] = as_data(as_text(values))
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"an argument of {name} is not data that survives a restart: {error}") from error
    return plain


def _default(name: str, param: Param) -> Any:
    if param.default is None:
        raise PlaybookError(f"{name} needs {param.name!r}")
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


class FrameExecution(Protocol):
    """The execution of one frame."""

    async def run(self) -> Any:
        """Execute the frame and return its value. Raises PlaybookError when it fails."""


class LLMPlaybook:
    """A playbook in English; `execution` makes what executes one of its frames."""

    kind = "llm"

    def __init__(
        self, spec: PlaybookSpec, version: str, execution: Callable[[Frame, PlaybookSpec], FrameExecution]
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._execution = execution

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
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

    async def run(self, frame: Frame, /) -> Any:
        return await self._execution(frame, self.spec).run()
