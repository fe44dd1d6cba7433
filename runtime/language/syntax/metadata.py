"""Metadata and prose below a heading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.remote import check_remote
from runtime.language.syntax.blocks import Block, FencedBlock, TextLine
from runtime.language.syntax.humans import PERSON_KEYS, check_human
from runtime.language.syntax.listing import is_rule
from runtime.language.syntax.source import is_key, load_mapping

_COMMON = ("public", "export", "hidden", "description", "model", "meeting")
MEETING_KEYS = ("required_attendees", "optional_attendees")
"""The keys for a meeting's attendees."""

PLAYBOOK_KEYS = frozenset(
    {*_COMMON, *MEETING_KEYS, "before_joining", "show", "execution_mode", "cli_entry", "pattern", "pure"}
)
AGENT_KEYS = frozenset(
    {
        *_COMMON,
        *("name", "startup_mode", "remote", "delivery_channel", "streaming_enabled", "streaming_chunk_size"),
        *("buffer_messages", "buffer_timeout", "meeting_notifications", "delivery_handler", "participant", "prompts"),
    }
)
_MODES = {"playbook": "playbook", "react": "react", "iterative": "react", "raw": "raw", "single-shot": "raw"}
_CHOICES: dict[str, dict[str, str]] = {
    "execution_mode": _MODES,
    "startup_mode": {"default": "default", "standby": "standby"},
    "delivery_channel": {"streaming": "streaming", "buffered": "buffered", "custom": "custom"},
    "meeting_notifications": {"all": "all", "targeted": "targeted", "none": "none"},
    "show": {"all": "all", "summaries": "summaries", "none": "none"},
    "pattern": {name: name for name in ("correct", "cancel", "skip", "repeat", "human", "other")},
}
_FLAGS = ("public", "export", "hidden", "meeting", "cli_entry", "pure", "streaming_enabled", "buffer_messages")
_FLAG_WORDS = frozenset({"true", "false", "yes", "no", "on", "off"})
_SHORT_FORMS = {"mode": "execution_mode", "exec_mode": "execution_mode", "startup": "startup_mode"}
"""Short forms of keys that hardly resemble them."""

_TEXTS = ("description", "name", "before_joining")


def _is_number_from(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value >= least


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_texts(value: Any) -> bool:
    return _is_list(value) and all(isinstance(one, str) and one.strip() for one in value)


_VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **{key: (lambda _: False, f"one of {', '.join(known)}") for key, known in _CHOICES.items()},
    **dict.fromkeys(_FLAGS, (lambda value: isinstance(value, bool), "true or false")),
    **dict.fromkeys(MEETING_KEYS, (_is_list, "a list of agents, for example [Host, Guest]")),
    "prompts": (_are_texts, "a list of messages, one a line, for example - Order a cake"),
    "remote": (lambda value: isinstance(value, dict), "a block with type, transport and url"),
    "streaming_chunk_size": (_is_number_from(1), "a number of at least 1"),
    "buffer_timeout": (_is_number_from(0), "a number of at least 0"),
}
"""What a value must be, beside other ways to write it, and the words for that, by key."""


class Preamble(Struct, frozen=True):
    """The text below a heading: its metadata, its `description:`, and the rest, which is prose."""

    metadata: dict[str, Any]
    described: str
    prose: tuple[Block, ...]

    @property
    def description(self) -> str:
        """All prose; repeated blank lines are merged, rules dropped."""
        rows: list[str] = []
        for block in self.prose:
            if isinstance(block, FencedBlock):
                rows += [line.text for line in (block.opening, *block.lines, block.closing)]
            else:
                rows.append(block.line.text.rstrip())
        prose = "\n".join(row for before, row in pairwise(("", *rows)) if row or before).strip()
        return "\n".join(part for part in (self.described, prose) if part)


def read_preamble(blocks: Sequence[Block], keys: frozenset[str], problems: DiagnosticList) -> Preamble:
    """Read the lines below a heading. Metadata is a `metadata:` block of YAML that `---` ends, or `key: value` lines
    with these keys, anywhere in the prose. Keys of the author's own are metadata where a paragraph has nothing but keys
    and begins what stands below the heading, or has one of these keys."""
    reader = _PreambleReader(blocks, keys, problems)
    reader.read()
    _check_values(reader.metadata, reader.lines, problems)
    if keys is PERSON_KEYS:
        check_human(reader.metadata, reader.lines, problems)
    else:
        for key, line in reader.lines.items():
            if meant := misspelt_key(key, keys):
                column = line.text.find(key) + 1
                problems.warn(line, f"there is no key `{key}`", column=column, hint=f"Did you mean {meant}?")
    if isinstance(remote := reader.metadata.get("remote"), dict):
        check_remote(remote, reader.remote, problems)
    described = str(reader.metadata.pop("description", "") or "").strip()
    return Preamble(reader.metadata, described, tuple(reader.prose))


def misspelt_key(key: str, keys: frozenset[str]) -> str:
    """The key that an unknown one probably means; "" if it seems to be the author's own."""
    if key in keys:
        return ""
    meant = _SHORT_FORMS.get(key) or next(iter(get_close_matches(key, sorted(keys), n=1, cutoff=0.8)), "")
    return meant if meant in keys else ""


def _check_values(metadata: dict[str, Any], lines: dict[str, SourceLine], problems: DiagnosticList) -> None:
    """Note values that a known key cannot have; attendees written with commas become a list."""
    for key, line in lines.items():
        value = metadata[key]
        if key in _CHOICES and (chosen := _CHOICES[key].get(str(value).lower())):
            metadata[key] = chosen
        elif key in MEETING_KEYS and isinstance(value, str):
            metadata[key] = [part.strip() for part in value.split(",")]
        elif key == "prompts" and isinstance(value, str):
            metadata[key] = [value]
        elif key in _VALUES and not _VALUES[key][0](value):
            problems.at(line, f"`{key}` cannot be {value!r}", hint=f"Expected {_VALUES[key][1]}.")
    handler = metadata.get("delivery_handler") or metadata.get("custom_handler")
    if metadata.get("delivery_channel") == "custom" and not handler:
        message = "`delivery_channel: custom` needs a `delivery_handler`"
        problems.at(lines["delivery_channel"], message, hint="Name the handler, or choose streaming or buffered.")


def loose_setting(text: str, keys: frozenset[str]) -> tuple[str, str] | None:
    """The key and value of a line that is a setting with one of its few values, in any case: `Execution mode: raw`.
    Such a line is never taken for prose, nor for a part of the step or trigger before it."""
    said, _, value = text.lower().partition(": ")
    key, value = said.strip().replace(" ", "_").replace("-", "_"), value.strip()
    if key not in keys or not text[:4].strip():
        return None
    known = value in _FLAG_WORDS if key in _FLAGS else value in _CHOICES.get(key, ())
    return (key, value) if known else None


def _setting(text: str) -> tuple[str, str] | None:
    """The key and value of a line `key: value`, indented by at most three spaces; None for any other."""
    key, colon, value = text.partition(":")
    name = key.lstrip(" ")
    setting = colon and not value[:1].strip() and name.isidentifier() and not name[0].isupper() and text[:4].strip()
    return (name, value.strip()) if setting else None


class _PreambleReader:
    def __init__(self, blocks: Sequence[Block], keys: frozenset[str], problems: DiagnosticList) -> None:
        self._blocks = blocks
        self._keys = keys
        self._problems = problems
        self._at = 0
        self._fresh = True
        self._begun = False
        self._own = False
        self.metadata: dict[str, Any] = {}
        self.lines: dict[str, SourceLine] = {}
        self.remote: Sequence[SourceLine] = ()
        self.prose: list[Block] = []

    def read(self) -> None:
        while self._at < len(self._blocks):
            block = self._blocks[self._at]
            self._at += 1
            if isinstance(block, TextLine):
                self._read_text(block)
            else:
                self._fresh = False
                self.prose.append(block)

    def _read_text(self, block: TextLine) -> None:
        line = block.line
        if not line.text.strip() or is_rule(line.text):
            self._own, self._begun = False, False
        elif not self._begun:
            self._own, self._begun = self._is_of_keys(line), True
        if self._read_metadata(line) or is_rule(line.text):
            return
        self._fresh = self._fresh and not line.text.strip()
        self.prose.append(block)

    def _is_of_keys(self, first: SourceLine) -> bool:
        """Whether this line starts a paragraph in which every line is a key or belongs to one."""
        rows = [first.text]
        for block in (self._blocks[index] for index in range(self._at, len(self._blocks))):
            if not isinstance(block, TextLine) or not block.line.text.strip() or is_rule(block.line.text):
                break
            rows.append(block.line.text)
        keys = [None if row[:1] == " " else _setting(row) for row in rows]
        if keys[0] is None or any(not key and row[:1] not in " \t-" for key, row in zip(keys, rows, strict=True)):
            return False
        return self._fresh or any(key is not None and key[0] in self._keys for key in keys)

    def _read_metadata(self, line: SourceLine) -> bool:
        text = line.text.rstrip()
        if _begins_block(text):
            block = self._block_lines()
            self._put(load_mapping(block, self._problems) if block else {}, block)
            self._own, self._begun = False, False
            return True
        setting = _setting(text)
        if setting is None or not (self._own or setting[0] in self._keys):
            return self._read_loose(line)
        key, value = setting
        block = [line]
        if value[:1] in ("|", ">") and not value[1:].strip("+-0123456789"):  # YAML's marks for a text of several lines
            block += self._while(_is_below)
        elif key in _TEXTS and value:
            self._put({key: value.strip().strip("\"'")}, [line])
            return True
        elif not value:
            block += self._while(lambda row: row[:1] in (" ", "\t") or row.startswith("- "))
        self._put(load_mapping(block, self._problems), block)
        return True

    def _read_loose(self, line: SourceLine) -> bool:
        """A setting in prose form: `Public: yes`."""
        said = loose_setting(line.text, self._keys)
        if said is None:
            self._warn_of_setting(line)
            return False
        self._put(load_mapping([replace(line, text=f"{said[0]}: {said[1]}")], self._problems), [line])
        self.lines[said[0]] = line
        return True

    def _warn_of_setting(self, line: SourceLine) -> None:
        """Warn of prose that would be a setting with a correct key: `publc: true`."""
        setting = _setting(line.text.rstrip())
        meant = misspelt_key(setting[0], self._keys) if setting and self._keys is not PERSON_KEYS else ""
        if setting and meant and loose_setting(f"{meant}: {setting[1]}", self._keys):
            hint = f"Did you mean {meant}? This is read as prose."
            self._problems.warn(line, f"there is no key `{setting[0]}`", hint=hint)

    def _block_lines(self) -> list[SourceLine]:
        """The lines of a `metadata:` block: up to `---` when only YAML precedes it, else the indented ones."""
        start = self._at
        rows = self._while(_may_be_yaml)
        following = self._blocks[self._at] if self._at < len(self._blocks) else None
        if isinstance(following, TextLine) and is_rule(following.line.text):
            self._at += 1
        else:
            self._at = start
            rows = self._while(_is_below)
        rows = [replace(row, text=row.text.expandtabs(4)) for row in rows]
        while rows and not rows[0].text.strip():
            rows.pop(0)
        return rows

    def _while(self, accepts: Any) -> list[SourceLine]:
        rows: list[SourceLine] = []
        while self._at < len(self._blocks):
            block = self._blocks[self._at]
            if not isinstance(block, TextLine) or is_rule(block.line.text) or not accepts(block.line.text):
                break
            rows.append(block.line)
            self._at += 1
        return rows

    def _put(self, values: dict[str, Any], rows: list[SourceLine]) -> None:
        places: dict[str, int] = {}
        for index, row in enumerate(rows):
            places.setdefault(row.text.partition(":")[0].strip(), index)
        for key, value in values.items():
            line = rows[places.get(key, 0)]
            if key in self.metadata:
                self._problems.at(line, f"`{key}` is given twice", hint=f"It was {self.metadata[key]!r} before.")
            self.metadata[key] = value
            self.lines[key] = line
            if key == "remote":
                self.remote = rows[places.get(key, 0) :]


def _begins_block(text: str) -> bool:
    return text.rstrip().lower() == "metadata:"


def _is_below(row: str) -> bool:
    """Whether a line is blank, or indented."""
    return not row.strip() or row[0] in " \t"


def _may_be_yaml(row: str) -> bool:
    return not _begins_block(row) and (_is_below(row) or is_key(row) or row[0] == "#" or row[:2] == "- ")
