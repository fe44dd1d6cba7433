"""The port of a playbook, which is called by name and runs as a frame; playbooks in natural language, and meetings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from runtime.core.errors import JournalError, PlaybookError, ProgramChanged, StorageError
from runtime.execution.frames.frame import ExecutablePlaybook, Frame, shortened
from runtime.execution.frames.signatures import CallShape
from runtime.language.pbasm.versions import FrameVersion, stands_on
from runtime.language.program import Param, PlaybookSpec
from runtime.language.value_types import coerced
from runtime.meetings.invitations import AUTOMATIC
from runtime.playbooks.own_types import as_text
from runtime.tape.journal import as_data
from runtime.tape.state.meetings import MeetingState


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


class FrameExecution(Protocol):
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


class MeetingHosting(Protocol):
    """Opens and closes meetings for the frames that execute them."""

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState | str:
        """Return when the meeting is active: at once for an invited agent, with everybody required for its host.

        A text says why it does not take place.
        """

    async def depart(self, meeting: MeetingState, frame: Frame, failure: Exception | None = None, /) -> None:
        """The playbook of a frame has returned, or failed."""


class MeetingPlaybook:
    """Wraps the playbook that says what its agent does in the meeting."""

    def __init__(self, spec: PlaybookSpec, inner: ExecutablePlaybook, meeting_host: MeetingHosting) -> None:
        self.spec = spec
        self.name = inner.name
        self.version = inner.version
        self.kind = inner.kind
        self._inner = inner
        self._meeting_host = meeting_host

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Bind the arguments that every meeting takes beside the playbook's own."""
        declared = {param.name for param in self.spec.params}
        own = {name: kwargs[name] for name in AUTOMATIC if name in kwargs and name not in declared}
        inner = {name: value for name, value in kwargs.items() if name not in own}
        values, named, variables = self._inner.bind(args, inner)
        try:
            return values, named | as_data(own), variables
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"topic and attendees of {self.name} are texts and lists of names: {error}") from error

    async def adopt(self, frame: Frame, /) -> None:
        await self._inner.adopt(frame)

    async def run(self, frame: Frame, /) -> Any:
        meeting = await self._meeting_host.enter(frame, self.spec)
        if isinstance(meeting, str):
            return meeting
        try:
            value = await self._inner.run(frame)
        except (StorageError, JournalError):
            raise
        except Exception as error:
            await self._meeting_host.depart(meeting, frame, error)
            raise
        await self._meeting_host.depart(meeting, frame)
        return value
