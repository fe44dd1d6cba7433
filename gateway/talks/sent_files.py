"""The files that people sent in a stored conversation, beside the talk that is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from runtime.core.errors import ConfigError, ContentLocked, ProgramError
from runtime.core.files import FILE_URL, FileContent, FileStore, clean_file_name, file_id
from runtime.language.syntax.source import TALKS
from runtime.tape.facts.people import FileReceived
from runtime.tape.facts.registry import content_of
from runtime.tape.tape import Fact

_FOLDER = ".files"
_SEPARATES = re.compile(r"[,:]")
"""Characters that end the name of a file in a talk."""

Contents = Mapping[str, tuple[str, bytes]]
"""Names and contents by url."""


async def contents_of(facts: Sequence[Fact], store: FileStore) -> Contents:
    """The files that people sent. Raises ProgramError for one that is gone, or cannot be opened."""
    found: dict[str, tuple[str, bytes]] = {}
    for url, name in _sent(facts).items():
        try:
            kept = await store.content(url.removeprefix(FILE_URL))
        except ContentLocked as error:
            raise ProgramError(f"The file {name} cannot be opened. {error}") from error
        found[url] = name, _there(name, kept)
    return found


def contents_in(facts: Sequence[Fact], files: Iterable[FileContent]) -> Contents:
    """The same, of the files of an exported session."""
    kept = {file_id(file.data, file.media_type): file for file in files}
    return {url: (name, _there(name, kept.get(url.removeprefix(FILE_URL)))) for url, name in _sent(facts).items()}


def _sent(facts: Sequence[Fact]) -> Mapping[str, str]:
    """The names of the files that people sent, by url."""
    received = [content_of(fact.kind, fact.data) for fact in facts]
    files = [each for each in received if isinstance(each, FileReceived) and each.url.startswith(FILE_URL)]
    return {each.url: each.name for each in reversed(files)}


def _there(name: str, kept: FileContent | None) -> bytes:
    if kept is None:
        raise ProgramError(f"The file {name} of this conversation is not kept any more.")
    return kept.data


@contextmanager
def beside(talks: Path, contents: Contents) -> Iterator[Mapping[str, Path]]:
    """The files, written into the folder support.files beside support.test.md: their paths by url.

    What was written goes again when something fails. Raises ConfigError where they cannot be written.
    """
    folder = talks.with_name(talks.name.removesuffix(TALKS) + _FOLDER)
    paths: dict[str, Path] = {}
    written: list[Path] = []
    try:
        for url, (name, data) in contents.items():
            path = _free(folder, name, data)
            if not path.exists():
                folder.mkdir(exist_ok=True)
                written.append(path)
                path.write_bytes(data)
            paths[url] = path
        yield paths
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
        if isinstance(error, OSError):
            raise ConfigError(f"{folder} cannot be written: {error.strerror}") from error
        raise


def _free(folder: Path, name: str, data: bytes) -> Path:
    """A path that is free, or has this content already."""
    clean = Path(_SEPARATES.sub("_", clean_file_name(name)))
    names = (clean.name if number == 1 else f"{clean.stem}-{number}{clean.suffix}" for number in count(1))
    paths = (folder / one for one in names)
    return next(path for path in paths if not path.exists() or path.read_bytes() == data)
