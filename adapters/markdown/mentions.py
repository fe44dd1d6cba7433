"""Mentions of people: `@Name` in a text becomes a link, and nothing else may ping anybody."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import regex
from msgspec import Struct

from adapters.markdown.fences import OpenFence, after_line
from adapters.markdown.html_blocks import html_as_markdown
from adapters.markdown.reading import ADDRESS, PACKAGE

_BEFORE = r"(?<![\w@/.\\:=&?#%+-])"
_BROADCAST = re.compile(r"@(?=(?:everyone|here|channel|all)\b)", re.IGNORECASE)
_MARKED = re.compile(r"(?<!\\)<(?=[@!#](?:[A-Z0-9&!]|here|channel|everyone|subteam))")
_TARGET = re.compile(r"\](?P<open>[(:][\s>]*<?)(?P<target>[^\s)>]*)")
_AUTOLINK = re.compile(r"(?<!\\)<(?=(?:p|&|\\)[^\s<>]*:)", re.IGNORECASE)
_LINK = regex.compile(
    rf"\[(?:[^\[\]\n\\]|\\.)*\]\([^()\n]*\)|<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*>|{ADDRESS.pattern}", ADDRESS.flags
)
_MENTION = re.compile(r"(\[@(?:\\.|[^\[\]\\\n])*\]\(person:[\w:.@%-]*\))")
_CODE = re.compile(r"(?<!`)(?P<marks>`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)(?P=marks)(?!`)", re.DOTALL)
_CODE_BEGUN = re.compile(r"(?<!`)(?P<marks>`+)(?!`)(?:(?!\n[ \t]*\n).)*\Z", re.DOTALL)
UNPINGED = "@\u200b"
"""An at sign that no platform reads as the start of a mention."""


class _Names(Struct, frozen=True):
    """Known people: ids by lower-case name, and the pattern that finds the longest name first."""

    people: Mapping[str, str]
    pattern: re.Pattern[str] | None
    starts: tuple[str, ...]


def with_mentions(text: str, people: Mapping[str, str], *, growing: bool = False) -> str:
    """CommonMark with `[@Name](person:<id>)` for `@Name` of `people` (ids by name), outside of code and links.

    Letters' case does not matter, the longest name counts, and a name ends where a word ends. Every other way in which
    a text could ping is made harmless. Of a `growing` text an end that may still become a name is left out, so that
    what is shown of it never changes.
    """
    names = _names(tuple(people.items()))
    if growing:
        text = _without_begun_name(text, names)
    text = html_as_markdown(text, growing=growing)
    if "@" not in text and "<" not in text and ":" not in text:
        return text
    # Also in what looks like code: where it ends is for the platform's reading of the text to say, not for ours.
    text = _AUTOLINK.sub(_harmless_autolink, _TARGET.sub(_harmless_target, text))
    return "".join(piece if code else _linked(piece, names) for piece, code in code_pieces(text, growing=growing))


def code_pieces(text: str, *, growing: bool) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each marked as code or not. In a `growing` one, code that has begun at the end is code."""
    prose: list[str] = []
    fence: OpenFence | None = None
    for line in text.splitlines(keepends=True) if "\r" not in text else re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        after = after_line(line.rstrip("\n"), fence)
        if fence is None and after is None:
            prose.append(line)
        else:
            yield from _inline_pieces("".join(prose), growing=False)
            prose.clear()
            yield line, True
        fence = after
    yield from _inline_pieces("".join(prose), growing=growing)


def _inline_pieces(text: str, *, growing: bool) -> Iterator[tuple[str, bool]]:
    at = 0
    for found in _CODE.finditer(text):
        yield text[at : found.start()], False
        yield found[0], True
        at = found.end()
    rest = text[at:]
    begun = _CODE_BEGUN.search(rest) if growing else None
    if begun:
        yield rest[: begun.start()], False
        yield begun[0], True
    elif rest:
        yield rest, False


def _linked(text: str, names: _Names) -> str:
    pieces: list[str] = []
    at = 0
    for link in _LINK.finditer(text):
        pieces += [_named(text[at : link.start()], names), link[0]]
        at = link.end()
    return "".join([*pieces, _named(text[at:], names)])


def _named(text: str, names: _Names) -> str:
    if names.pattern is not None:
        text = names.pattern.sub(lambda found: _mention(found[0], names), text)
    pieces = _MENTION.split(text) if names.pattern is not None else [text]
    pieces[::2] = [_MARKED.sub(r"\\<", _BROADCAST.sub(_unpinged_unless_package, piece)) for piece in pieces[::2]]
    return "".join(pieces)


def _unpinged_unless_package(found: re.Match[str]) -> str:
    return found[0] if PACKAGE.match(found.string, found.start()) else UNPINGED


def _mention(found: str, names: _Names) -> str:
    label = re.sub(r"([\\\[\]*_`~])", r"\\\1", found[1:])
    person = re.sub(
        r"[^\w:.@-]",
        lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode()),
        names.people[found[1:].casefold()],
    )
    return f"[@{label}](person:{person})"


def _harmless_target(found: re.Match[str]) -> str:
    return f"]\\{found['open']}{found['target']}" if _is_person(found["target"]) else found[0]


def _harmless_autolink(found: re.Match[str]) -> str:
    rest = found.string[found.end() : found.end() + 40]
    return "\\<" if _is_person(rest) else "<"


def _is_person(target: str) -> bool:
    return html.unescape(target).replace("\\", "").casefold().startswith("person:")


def _without_begun_name(text: str, names: _Names) -> str:
    at = text.rfind("@", max(0, len(text) - 100))
    if at < 0 or not names.starts:
        return text
    begun = text[at + 1 :].casefold()
    return text[:at] if any(name.startswith(begun) for name in names.starts) else text


@lru_cache(maxsize=256)
def _names(people: tuple[tuple[str, str], ...]) -> _Names:
    known = {name.casefold(): person for name, person in people if name.strip()}
    if not known:
        return _Names(known, None, ())
    longest_first = sorted(known, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    return _Names(known, re.compile(rf"{_BEFORE}@(?:{pattern})(?!\w)", re.IGNORECASE), tuple(known))
