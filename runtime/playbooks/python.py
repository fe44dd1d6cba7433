"""Playbooks in Python: trusted code of the program's author, replayed against the journal after a restart."""

from __future__ import annotations

import asyncio
import inspect
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from msgspec.structs import replace

from runtime.core.errors import JournalError, ParleyError, PlaybookError, ProgramChanged, Unjournaled
from runtime.core.message import Attachment
from runtime.execution.frames.drive import drive, rehearse
from runtime.execution.frames.frame import Bound, Frame, shortened
from runtime.execution.frames.loop import FrameLoop
from runtime.execution.prompt.with_files import FileContents, referred
from runtime.language.pbasm.versions import FrameVersion
from runtime.language.program import Param, PlaybookSpec
from runtime.playbooks.playbook import OwnTypes, as_text, bound, check_signature, state_values, typed, typed_result
from runtime.playbooks.python_body import Again, PythonBody, executing, exits
from runtime.tape.facts.frames import TurnEnded
from runtime.tape.journal import Journal, as_data

BYTES: Final = "bytes"
PATHS: Final = ("Path", "pathlib.Path")

_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}")


@asynccontextmanager
async def with_files(
    name: str,
    params: Sequence[Param],
    values: Mapping[str, Any],
    files: Sequence[Attachment],
    contents: FileContents | None,
) -> AsyncIterator[dict[str, Any]]:
    """The arguments of the playbook `name`, with contents for what names one of the `files`; paths are gone afterwards.

    A path ends as the file's name does, and has nothing else of it. Raises PlaybookError for a value that names none.
    """
    given = dict(values)
    wanted = [param for param in params if param.name in values and param.type in (BYTES, *PATHS)]
    folder: tempfile.TemporaryDirectory[str] | None = None
    try:
        for number, param in enumerate(wanted):
            file, data = await _content(name, param, values[param.name], files, contents)
            given[param.name] = data
            if param.type in PATHS:
                if folder is None:
                    folder = await anyio.to_thread.run_sync(
                        partial(tempfile.TemporaryDirectory, prefix="parley-", ignore_cleanup_errors=True)
                    )
                ending = _ENDING.fullmatch(Path(file.name).suffix)
                path = Path(folder.name) / f"file{number}{ending[0] if ending else ''}"
                await anyio.to_thread.run_sync(path.write_bytes, data)
                given[param.name] = path
        yield given
    finally:
        if folder is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(folder.cleanup)


async def _content(
    name: str, param: Param, value: Any, files: Sequence[Attachment], contents: FileContents | None
) -> tuple[Attachment, bytes]:
    found = referred(str(value), files)
    if not found or contents is None:
        raise PlaybookError(f"{name} takes {param.name} as a file that somebody sent, not {shortened(repr(value))}")
    data = await contents.content(found[0].url)
    if data is None:
        raise PlaybookError(f"{found[0].name}, which {name} takes as {param.name}, is no longer kept")
    return found[0], data


class PythonPlaybook:
    """A function of the author. A coroutine function runs on the loop, a plain one in a thread, which nothing can stop:
    when its playbook is stopped, it runs to its end without effect.
    """

    kind = "python"

    def __init__(
        self,
        spec: PlaybookSpec,
        function: Callable[..., Any],
        journal: Journal,
        version: str,
        contents: FileContents | None = None,
    ) -> None:
        """`contents` are the files that parameters of the types `bytes` and `Path` are given."""
        self._contents = contents
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._params = [
            replace(param, type=_held(param.type), default=_default(param, function)) for param in spec.params
        ]
        self._returns = _held(spec.returns)
        self._function = function
        self._types = OwnTypes(spec.name, function)
        self._journal = journal

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        values = self._bound(args, kwargs)
        return [], values, state_values(self.spec.params, values)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = bound(self.name, self._params, args, kwargs)
        self._types.read(given)
        values = typed(self.name, self._params, given)
        absent = next((param for param in self._params if param.needs_value and values[param.name] is None), None)
        if absent is not None:
            raise PlaybookError(f"{self.name} takes {absent.name} as {absent.type}, and it was not given")
        return values

    async def adopt(self, frame: Frame, /) -> None:
        """Code that changed must do what the journal has: it is run through the recorded results."""
        begun = check_signature(frame, FrameVersion.read(self.version))
        if begun.code == FrameVersion.read(self.version).code or not inspect.iscoroutinefunction(self._function):
            return
        failure: JournalError | None = None
        async with self._given(frame) as given, self._executing(frame, given) as body:
            try:
                await rehearse(frame, body)
            except JournalError as error:
                failure = error
        if failure is not None:
            text = f"{self.name} was changed before the point at which it is being executed here"
            raise ProgramChanged(text, f"{failure}: {failure.detail}") from failure

    async def run(self, frame: Frame, /) -> Any:
        """Raises PlaybookError for a result that its annotation does not allow."""
        return typed_result(self.name, self._returns, await self._value(frame))

    async def _value(self, frame: Frame) -> Any:
        if not inspect.iscoroutinefunction(self._function):
            async with self._given(frame) as given:
                function = partial(self._function, *frame.state.args, **given)
                try:
                    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
                except SystemExit as error:
                    raise exits(self.name) from error
        if not isinstance(asyncio.get_running_loop(), FrameLoop):
            raise Unjournaled("python playbooks need the event loop runtime.execution.frames.loop.FrameLoop")
        while True:
            value = await self._once(frame)
            if not isinstance(value, Again):
                return value
            values = self._bound(value.args, {})
            self._journal.note(TurnEnded(frame.id, args=[], kwargs=values))

    def _executing(self, frame: Frame, given: Mapping[str, Any]) -> AbstractAsyncContextManager[PythonBody]:
        return executing(self._function, frame.state, arguments=(frame.state.args, given))

    def _given(self, frame: Frame) -> AbstractAsyncContextManager[dict[str, Any]]:
        """The arguments as the function takes them: files where it wants bytes or paths. Raises PlaybookError."""
        files = self._journal.state.files
        given = self._types.read(frame.state.kwargs)
        return with_files(self.name, self._params, given, files, self._contents)

    async def _once(self, frame: Frame) -> Any:
        failure: Exception | None = None
        async with self._given(frame) as given, self._executing(frame, given) as body:
            try:
                await drive(frame, body, frame.host)
            except ParleyError as error:
                failure = error
        failure = failure or (body.error and (body.refusal or body.error))
        if failure is not None:
            raise failure
        return body.value


def _held(annotation: str | None) -> str | None:
    """An annotation as the language's types have it, where `object` is what JSON calls so."""
    return annotation and re.sub(r"\bobject\b", "Any", annotation)


def _default(param: Param, function: Callable[..., Any]) -> str | None:
    """The default of a parameter as a literal, where it is an expression whose value is data."""
    if param.default is None:
        return None
    try:
        return repr(as_data(as_text(inspect.signature(function).parameters[param.name].default)))
    except (TypeError, ValueError):
        return param.default
