"""From the Markdown of a talk file to talks: its head, its headings, its items; and talk files laid out in one way, in
which no word changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from gateway.talks import talk as forms
from gateway.talks.parsing.items import ItemReader, Items, TalkItem, TalkProblems
from runtime.language.diagnostics import Diagnostic, DiagnosticList, ProgramRejected, SourceLine, Span
from runtime.language.program import Program
from runtime.language.syntax.source import TALKS

_PROGRAMS = (".pb", ".md", ".pbasm")
"""The endings of a program beside its talks, in the order in which they are looked for."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_HEADING = re.compile(r"(#{1,2})(?!#)\s*(.*?)\s*#*\s*$")
_ITEM = re.compile(r"( {0,3})(?:[-*+]|\d{1,9}[.)])(?:\s+(.*)|\s*)$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_KEYS = ("program", "start", "people", "group", "title")
_MAX_BYTES = 1024 * 1024

_BULLETS = ("*", "+", "-")


class TalkSource(Struct, frozen=True):
    """The lines of a talk file, those of its head as YAML."""

    path: Path
    lines: tuple[SourceLine, ...]
    head: str
    """The text between the `---` lines, "" without any."""


def read_source(path: Path) -> TalkSource:
    """The text of a talk file. Raises ProgramRejected for one that cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, f"it cannot be read: {error.strerror}") from error
    return source_of(content, path)


def source_of(content: bytes, path: Path) -> TalkSource:
    """The text of a talk file with this content. Raises ProgramRejected for one that cannot be read."""
    if len(content) > _MAX_BYTES:
        raise _unreadable(path, "it is longer than 1 MiB", "Spread the talks over several files.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = content[: error.start].count(b"\n") + 1
        raise _unreadable(path, "this is not UTF-8", "Save the file as UTF-8.", place) from error
    lines = _LINE_END.split(text)
    ends = (number for number, line in enumerate(lines[1:], 2) if line.strip() == "---")
    end = next(ends, None) if lines[0].strip() == "---" else 0
    if end is None:
        raise _unreadable(path, "these lines about the talk are never closed", "End them with a line ---.")
    numbered = [SourceLine("" if number <= end else line, str(path), number) for number, line in enumerate(lines, 1)]
    return TalkSource(path, tuple(numbered), "\n".join(lines[1 : max(0, end - 1)]))


def _unreadable(path: Path, message: str, hint: str = "", line: int = 1) -> ProgramRejected:
    return ProgramRejected([Diagnostic(message, Span(str(path), line), hint=hint)])


# -- the head


def read_head(source: TalkSource) -> forms.TalkHead:
    """What the head says, and which program it is about. Raises ProgramRejected."""
    try:
        data = yaml.safe_load(source.head) or {}
    except yaml.YAMLError as error:
        why = str(error).split("\n", maxsplit=1)[0]
        raise _unreadable(source.path, f"the lines between --- are not YAML: {why}", line=2) from error
    if not isinstance(data, dict):
        raise _unreadable(source.path, "the lines between --- are not keys with values", "Write `program: hello.pb`.")
    for key in data:
        if key not in _KEYS:
            near = get_close_matches(str(key), _KEYS, n=1, cutoff=0.6)
            hint = f"Did you mean `{near[0]}`?" if near else f"Known are: {', '.join(_KEYS)}."
            raise _unreadable(source.path, f"`{key}` is not a key of a talk", hint, _line_of(source, str(key)))
    return forms.TalkHead(
        _programs(source, data), _start(source, data), _people(source, data), data.get("group") is True
    )


def _line_of(source: TalkSource, key: str) -> int:
    lines = source.head.split("\n")
    return next((number for number, line in enumerate(lines, 2) if line.startswith(key)), 2)


def _programs(source: TalkSource, data: Mapping[str, Any]) -> tuple[Path, ...]:
    folder, name = source.path.parent, source.path.name
    given = data.get("program")
    if given is None:
        stem = name.removesuffix(TALKS) if name.endswith(TALKS) else source.path.stem
        beside = [folder / f"{stem}{ending}" for ending in _PROGRAMS]
        found = [path for path in beside if path.is_file() and path != source.path]
        if not found:
            hint = f"Put {stem}.pb beside it, or write between --- lines at the top: program: name.pb"
            raise _unreadable(source.path, f"there is no program {stem}.pb beside these talks", hint)
        return (found[0],)
    names = given if isinstance(given, list) else [given]
    paths = tuple(folder / str(one) for one in names)
    for path in paths:
        if not path.is_file():
            near = get_close_matches(path.name, [one.name for one in folder.glob("*.pb")], n=1)
            hint = f"Did you mean {near[0]}?" if near else "The path is looked for beside the talk."
            raise _unreadable(source.path, f"there is no program {path}", hint, _line_of(source, "program"))
    return paths


def _start(source: TalkSource, data: Mapping[str, Any]) -> datetime:
    given = data.get("start", forms.START)
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            given = None
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime(given.year, given.month, given.day, tzinfo=UTC)
    if not isinstance(given, datetime):
        line = _line_of(source, "start")
        raise _unreadable(source.path, "`start` is not a time", "Write it as 2026-03-01 09:30 (UTC).", line)
    return given.astimezone(UTC) if given.tzinfo is not None else given.replace(tzinfo=UTC)


def _people(source: TalkSource, data: Mapping[str, Any]) -> Mapping[str, str]:
    given = data.get("people", {})
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    if isinstance(given, list):
        return {str(name): "" for name in given}
    if isinstance(given, dict):
        return {str(name): str(id_ or "") for name, id_ in given.items()}
    line = _line_of(source, "people")
    hint = "Write `people: Ada, Ben`, or each on a line with an id: `Ada: <platform>:<id>`."
    raise _unreadable(source.path, "`people` is not a list of names", hint, line)


# -- the talks


def read_talks(source: TalkSource, head: forms.TalkHead, program: Program) -> tuple[forms.TalkScript, ...]:
    """The talks of a file about `program`. Raises ProgramRejected with everything that is wrong in it."""
    problems = TalkProblems()
    reader = ItemReader(program, head, problems)
    drafts: list[_Draft] = []
    heading = SourceLine(source.path.name.removesuffix(TALKS), str(source.path), 1)
    for one in blocks(source.lines):
        if isinstance(one, TalkTitle):
            heading = one.line
            drafts.append(_Draft(one.title, heading, must_have_items=one.level == 2))
            continue
        if not drafts:
            drafts.append(_Draft(heading.text, heading))
        drafts[-1].items.append((one, reader.read(one)))
    kept = [draft for draft in drafts if draft.checked(problems)]
    _check_titles(kept, problems)
    if not kept and not problems:
        hint = "Write below a heading what is said: - Ada: Hello"
        problems.at(source.lines[0], "there is no talk in this file", column=1, hint=hint)
    problems.stop_if_any()
    return tuple(draft.talk() for draft in kept)


def _check_titles(drafts: list[_Draft], problems: DiagnosticList) -> None:
    known: dict[str, int] = {}
    for draft in drafts:
        before = known.setdefault(draft.title, draft.heading.number)
        if before != draft.heading.number:
            problems.at(draft.heading, f"the talk in line {before} has the same title", hint="Give it another one.")


class TalkTitle(Struct, frozen=True):
    """A heading: `#` for a file, `##` for a talk."""

    level: int
    title: str
    line: SourceLine


def blocks(lines: tuple[SourceLine, ...]) -> Iterator[TalkTitle | TalkItem]:
    """The headings and items, in their order; the rest is prose."""
    item: TalkItem | None = None
    fence, comment = "", False
    for line in lines:
        text = line.text
        if comment or (not fence and item is None and text.lstrip().startswith("<!--")):
            comment = "-->" not in text
            continue
        within = item is not None and (bool(fence) or not text.strip() or text[:1] in " \t")
        found = None if fence or (within and text.startswith("  ")) else _ITEM.match(text)
        marks = _FENCE.match(text)
        if marks and (not fence or text.strip() == fence):
            fence = "" if fence else marks[1]
        heading = None if fence else _HEADING.match(text)
        if heading or found or not (within or fence):
            if item is not None:
                yield item
            item = None
        if heading:
            yield TalkTitle(len(heading[1]), heading[2], line)
        elif found:
            item = TalkItem(line, (found[2] or "").rstrip())
        elif within and item is not None:
            item.more.append(text)
    if item is not None:
        yield item


class _Draft(Struct):
    title: str
    heading: SourceLine
    must_have_items: bool = False
    items: list[tuple[TalkItem, Items]] = field(default_factory=list)

    def checked(self, problems: DiagnosticList) -> bool:
        """Whether it has anything in it; a talk of its own heading must have."""
        if not self.items and self.must_have_items:
            problems.at(self.heading, "there is nothing in this talk", hint="Write what is said, - Ada: Hello")
        return bool(self.items)

    def talk(self) -> forms.TalkScript:
        never: list[forms.TalkFact] = []
        beats = [forms.TalkTurn(None)]
        for item, read in self.items:
            never += read if item.forbids else []  # type: ignore[arg-type]
            for one in [] if item.forbids else read:
                if isinstance(one, forms.TalkAct):
                    beats.append(forms.TalkTurn(one))
                else:
                    beats[-1].add(one)
        begins = len(beats) > 1 and isinstance(beats[1].act, forms.PersonLine | forms.ArrivingEvent)
        if begins and beats[0] == forms.TalkTurn(None):  # nothing comes before the first words
            del beats[0]
        return forms.TalkScript(self.title, self.heading.number, tuple(beats), tuple(never))


def formatted_talks(content: bytes, path: Path) -> str:
    """The text of a talk file, laid out. Raises ProgramRejected for one that cannot be read.

    What is indented below an item, prose, fences and comments stay as they are to the character.
    """
    source = source_of(content, path)
    text = content.decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    new = mark + "".join(row + end for row in _rows(source, _LINE_END.split(text.removeprefix("\ufeff"))))
    if _said(source_of(new.encode("utf-8"), path)) != _said(source):
        hint = "It is left as it is. This is a fault of Parley: please report it with the talk."
        raise ProgramRejected([Diagnostic("formatting would change what this says", Span(str(path), 1), hint=hint)])
    return new


def _said(source: TalkSource) -> list[tuple[str, str]]:
    """What stands in a talk file, without its places."""
    return [
        (f"{'#' * one.level} {one.title}", "") if isinstance(one, TalkTitle) else (one.first, one.text(""))
        for one in blocks(source.lines)
    ]


def _rows(source: TalkSource, rows: list[str]) -> Iterator[str]:
    found = {one.line.number - 1: one for one in blocks(source.lines)}
    blank, begun, after_title = 0, False, False
    at = 0
    while at < len(rows):
        one = found.get(at)
        if one is None and not rows[at].strip():
            blank, at = blank + 1, at + 1
            continue
        known = after_title or isinstance(one, TalkTitle)
        apart = 1 if known else blank if one is None else min(blank, 1)
        yield from [""] * (apart if begun else 0)
        taken = [rows[at]] if one is None else _laid_out(one, rows[at])
        yield from taken
        blank, begun, after_title, at = 0, True, isinstance(one, TalkTitle), at + len(taken)


def _laid_out(one: TalkTitle | TalkItem, row: str) -> list[str]:
    """A heading or an item, with what is indented below it up to its last words."""
    if isinstance(one, TalkTitle):
        return [f"{'#' * one.level} {one.title}"]
    mark = row.split(maxsplit=1)[0]
    more = list(one.more)
    while more and not more[-1].strip():
        more.pop()
    return [f"{'-' if mark in _BULLETS else mark} {one.first.lstrip()}".rstrip(), *more]
