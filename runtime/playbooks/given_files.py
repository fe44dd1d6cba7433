"""Files that people sent, as a Python playbook takes them: their bytes, or a path at which they lie meanwhile."""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from runtime.core.errors import PlaybookError
from runtime.core.message import Attachment
from runtime.execution.frames.frame import shortened
from runtime.execution.prompt.file_names import referred
from runtime.execution.prompt.with_files import FileContents
from runtime.language.program import Param

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
                    folder = await anyio.to_thread.run_sync(_new_folder)
                ending = _ENDING.fullmatch(Path(file.name).suffix)
                path = Path(folder.name) / f"file{number}{ending[0] if ending else ''}"
                await anyio.to_thread.run_sync(path.write_bytes, data)
                given[param.name] = path
        yield given
    finally:
        if folder is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(folder.cleanup)


def _new_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="parley-", ignore_cleanup_errors=True)


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
