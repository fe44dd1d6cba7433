"""From files to lines: globs, shebang, frontmatter and imports, and the YAML in them as plain values."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.near_names import file_advice
from runtime.language.diagnostics import DiagnosticList, SourceLine, Span

MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 8 << 20
MAX_IMPORT_DEPTH = 10
TALKS = ".test.md"
"""How the names of files with talks end, which are beside programs and match no glob."""
_PROGRAMS = (".pb", ".playbooks", ".pbasm")
_IMPORT = re.compile(r"^(\s*)!import(?:\s+(?!#)(.+?))?(?:\s+#.*)?\s*$")


class ProgramText(Struct, frozen=True):
    """The text of a program: all files one after another. `files` are those named, not those imported."""

    lines: tuple[SourceLine, ...]
    files: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The program's name in the frontmatter, else the name of the first file."""
        for key in ("name", "title", "application"):
            if self.metadata.get(key):
                return str(self.metadata[key])
        return Path(self.files[0]).stem if self.files else "program"


def is_compiled(file: str) -> bool:
    """Whether a file with this name contains PBAsm."""
    return file.endswith(".pbasm")


def read_paths(paths: Sequence[str | Path]) -> ProgramText:
    """Read files and globs into one source, each once, in the order given; a folder stands for the one program in it. A
    leading shebang line is dropped; YAML frontmatter is merged, and a key given twice is an error. Raises
    ProgramRejected for what is missing, another directory, longer than 1 MiB or not UTF-8, and for bad imports."""
    reader = _Reader()
    for file in reader.resolve(paths):
        text = reader.load(file, None)
        if text is not None:
            reader.take(str(file), text)
    return reader.program()


def read_text(text: str, file: str) -> ProgramText:
    """Read a text. Imports are resolved relative to `file`."""
    reader = _Reader()
    reader.take(file, text)
    return reader.program()


def own_lines(text: str, file: str) -> list[SourceLine]:
    """The lines of one file without its imports; those of its shebang and frontmatter are blank."""
    return _Reader().own_lines(text, file)


def rows_of(text: str) -> list[str]:
    """The rows of a file, whatever their ends and its mark of byte order are."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_import(text: str) -> bool:
    """Whether a line is an import."""
    return _IMPORT.match(text) is not None


class _Reader:
    def __init__(self) -> None:
        self.problems = DiagnosticList()
        self.lines: list[SourceLine] = []
        self.files: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.base = Path()
        self._from: dict[str, str] = {}
        self._bytes = 0

    def resolve(self, paths: Sequence[str | Path]) -> list[Path]:
        found: dict[Path, Path] = {}
        for given in paths:
            matches = _expand(str(given))
            if not matches:
                hint = file_advice(Path(given), _PROGRAMS, "Name a .pb, .playbooks or .pbasm file, or a glob.")
                self.problems.at_span(Span(str(given), 1), "no such file", hint=hint)
            for match in matches:
                found.setdefault(match.resolve(), match)
        if not paths:
            self.problems.at_span(Span("<none>", 1), "no file was given", hint="Name a .pb file.")
        return list(found.values())

    def take(self, file: str, text: str) -> None:
        if not self.files:
            self.base = Path(file).parent
        self.files.append(file)
        if self.lines:
            self.lines.append(SourceLine("", file, 0))
        self.lines.extend(self._expand_imports(self.own_lines(text, file), (Path(file).resolve(),)))

    def program(self) -> ProgramText:
        self.problems.stop_if_any()
        return ProgramText(tuple(self.lines), tuple(self.files), self.metadata)

    def own_lines(self, text: str, file: str) -> list[SourceLine]:
        """The lines of one file, with blank ones in place of its shebang and frontmatter: numbers stay true."""
        rows = rows_of(text)
        lines = [SourceLine(row, file, number) for number, row in enumerate(rows, 1)]
        if rows[0].startswith("#!"):
            lines[0] = replace(lines[0], text="")
        start = next((index for index, line in enumerate(lines) if line.text.strip()), None)
        if start is None or lines[start].text.rstrip() != "---":
            return lines
        end = next((i for i in range(start + 1, len(lines)) if lines[i].text.rstrip() == "---"), None)
        if end is None or any(line.text.startswith(("# ", "## ")) for line in lines[start:end]):
            if start + 1 < len(lines) and is_key(lines[start + 1].text):
                hint = "End it with a line of --- before the first heading."
                self.problems.at(lines[start], "this frontmatter is never closed", hint=hint)
            return lines
        self._merge(lines[start + 1 : end])
        lines[start : end + 1] = [replace(line, text="") for line in lines[start : end + 1]]
        return lines

    def _merge(self, rows: list[SourceLine]) -> None:
        for key, value in (load_mapping(rows, self.problems) if rows else {}).items():
            if key in self.metadata:
                line = next((line for line in rows if line.text.startswith(f"{key}:")), rows[0])
                self.problems.at(line, f"the frontmatter key `{key}` was already given in {self._from[key]}")
            self.metadata[key] = value
            self._from[key] = rows[0].file

    def _expand_imports(self, lines: Iterable[SourceLine], chain: tuple[Path, ...]) -> Iterable[SourceLine]:
        for line in lines:
            match = None if is_compiled(line.file) else _IMPORT.match(line.text)
            if match is None:
                self._refuse_listed_import(line)
                yield line
            else:
                yield from self._import(line, match, chain)

    def _refuse_listed_import(self, line: SourceLine) -> None:
        mark, _, said = line.text.strip().partition(" ")
        if said.lstrip().startswith("!import ") and not mark.strip("-*+.)0123456789") and not is_compiled(line.file):
            hint = f"Write it without the dash, indented like its steps: {said.lstrip()}"
            column = line.text.index("!import") + 1
            self.problems.at(line, "an import must be on a separate line", column=column, hint=hint)

    def _import(self, line: SourceLine, match: re.Match[str], chain: tuple[Path, ...]) -> Iterable[SourceLine]:
        indent, name = match[1], (match[2] or "").strip("\"'")
        column = (match.start(2) if match[2] else match.end(1)) + 1
        path = self._find(line, name, column, chain)
        text = None if path is None else self.load(path, (line, column))
        if path is None or text is None:
            return
        lines = self.own_lines(text, str(path))
        while lines and not lines[-1].text.strip():
            lines.pop()
        for inner in self._expand_imports(lines, (*chain, path.resolve())):
            yield replace(inner, text=indent + inner.text, shift=inner.shift + len(indent)) if inner.text else inner

    def _find(self, line: SourceLine, name: str, column: int, chain: tuple[Path, ...]) -> Path | None:
        problem = ""
        if not name:
            problem = "this imports no file"
        elif name.startswith(("http:", "https:")):
            problem = "a program is imported from files only, not from the network"
        elif len(chain) > MAX_IMPORT_DEPTH:
            problem = f"imports go deeper than {MAX_IMPORT_DEPTH} files"
        if problem:
            self.problems.at(line, problem, column=column)
            return None
        places = list(dict.fromkeys((Path(line.file).parent / name, self.base / name, Path(name))))
        path = next((place for place in places if _exists(place)), None)
        if path is None:
            tried = ", ".join(str(place) for place in places)
            self.problems.at(line, f"cannot find the imported file {name!r}", column=column, hint=f"Tried: {tried}")
        elif path.resolve() in chain:
            loop = " imports ".join(p.name for p in (*chain[chain.index(path.resolve()) :], path))
            self.problems.at(line, f"the imports go in a circle: {loop}", column=column)
            return None
        return path

    def load(self, path: Path, importer: tuple[SourceLine, int] | None) -> str | None:
        """The text of a file, or None with the problem noted: at the import, when there is one."""
        problem, hint, row = "", "", 1
        try:
            data, size = _read(path, regular=importer is not None)
        except IsADirectoryError:
            problem, hint = f"{path} is a directory", f"Name the files in it: {path}/*.pb"
        except (OSError, ValueError) as error:
            problem = f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        else:
            self._bytes += len(data)
            if len(data) > MAX_FILE_BYTES or self._bytes > MAX_TOTAL_BYTES:
                problem = f"{path} is too big ({size:,} bytes)"
                hint = f"A file may have {MAX_FILE_BYTES:,} bytes, a program with its imports {MAX_TOTAL_BYTES:,}."
            elif (bad := _undecodable(data)) is not None:
                row = data[:bad].count(b"\n") + 1
                problem, hint = f"{path} is not UTF-8 text (byte {bad} is 0x{data[bad]:02x})", "Save it as UTF-8."
        if not problem:
            return data.decode("utf-8")
        if importer is None:
            self.problems.at_span(Span(str(path), row), problem, hint=hint)
        else:
            self.problems.at(importer[0], problem, column=importer[1], hint=hint)
        return None


def program_in(path: Path) -> Path:
    """The program of a folder that has one alone; any other path as it is."""
    if not path.is_dir():
        return path
    found = [one for one in path.glob("*") if one.suffix in _PROGRAMS and one.is_file()]
    return found[0] if len(found) == 1 else path


def _expand(given: str) -> list[Path]:
    if _exists(Path(given)) or not glob.has_magic(given):
        return [program_in(Path(given))] if _exists(Path(given)) else []
    matches = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 - a glob may be absolute
    return [Path(match) for match in matches if Path(match).is_file() and not match.endswith(TALKS)]


def _read(path: Path, *, regular: bool) -> tuple[bytes, int]:
    """A file's content, at most one byte more than it may have, and its size. Raises OSError, ValueError. `regular`:
    devices and pipes are refused, which may have no end or never begin."""
    if regular and not path.is_file() and not path.is_dir():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    return data, max(len(data), path.stat().st_size)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _undecodable(data: bytes) -> int | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    nul = data.find(b"\0")
    return nul if nul >= 0 else None


_MOST_VALUES = 100_000
_MOST_LEVELS = 20


def is_key(text: str) -> bool:
    """Whether a line begins with a key: `name: value`."""
    key, colon, value = text.partition(":")
    return colon != "" and not value[:1].strip() and key.replace("-", "_").isidentifier()


def load_mapping(lines: Sequence[SourceLine], problems: DiagnosticList) -> dict[str, Any]:
    """The mapping these lines spell; {} when they are empty or, with a problem noted, wrong. Keys are strings; values
    are str, int, float, bool, None, lists and mappings of them (dates become text)."""
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
    """A value as plain data. Raises OverflowError for too many values: few lines can refer to each other often."""
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
