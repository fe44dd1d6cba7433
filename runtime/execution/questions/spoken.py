"""The words of a message while they are written: what models put around them is taken off, values are filled in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable

from runtime.execution.questions.question import WrongAnswer

SILENCE = "-"
"""What a model writes that has nothing to say."""

_LONGEST_PREAMBLE = 80
_LONGEST_HEAD = 160
"""So many characters decide what stands around a text."""

_WRAPPED = re.compile(
    r"\s*(?:```(?:\w*)\s*\n?\s*)?(?:await\s+)?(?:self\.)?Say\(\s*[\"']?[\w ]{1,30}[\"']?\s*,\s*f?(?P<quote>\"\"\"|\"|')",
    re.DOTALL,
)
_MAYBE_WRAPPED = re.compile(
    r"\s*(?:`{1,3}\w*\s*)?(?:a(?:w(?:a(?:it?)?)?)?\s*)?(?:s(?:elf?)?\.?)?(?:S(?:ay?)?(?:\(.*)?)?\Z", re.DOTALL
)
_OPENERS = ("sure", "certainly", "of course", "okay", "ok", "here")
_OPENER = rf"(?:{'|'.join(_OPENERS)})\b[^\n]{{0,120}}"
_PREAMBLE = re.compile(rf"\s*(?:{_OPENER}:[ \t]*(?:\n\s*)+)?(?P<fence>```\w*[ \t]*\n)?", re.IGNORECASE)
_FIELD = re.compile(
    r"\{\s*\$?(?P<braced>[A-Za-z_]\w*(?:\.\w+|\[[^\]{}\n]{0,40}\])*)\s*\}|(?<![\w$])\$(?P<bare>[A-Za-z_]\w*)"
)
_BEGUN_FIELD = re.compile(r"\{\s*\$?[\w.\[\]'\" ]{0,60}\Z|(?<![\w$])\$\w{0,60}\Z")


class Spoken:
    """Cleans the words of one message piece by piece.

    `fill` gives the text of a `{name}` or `$name`, None where it names nothing: then it stays as it is. Quotes around the whole are
    taken off, and so is a call of `Say` around it.
    """

    def __init__(self, fill: Callable[[str], str | None], speaker: str = "") -> None:
        self._fill = fill
        self._speaker = speaker
        self._head: str | None = ""
        self._close = ""
        self._tail = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        if self._head is not None:
            self._head += piece
            if not self._decided(self._head):
                return ""
            piece, self._head = self._opened(self._head), None
        return self._body(piece)

    def end(self) -> str:
        """What was held back, when the text is complete."""
        text = ""
        if self._head is not None:
            text, self._head = self._opened(self._head), None
            text = self._body(text)
        rest = self._held + self._tail
        self._held = self._tail = ""
        if self._close:
            stripped = rest.rstrip().removesuffix("```").rstrip()
            if self._close == "```":
                rest = stripped
            elif self._close == '"' and stripped.endswith('"'):
                rest = stripped.removesuffix('"')
            else:
                rest = stripped.removesuffix(")").rstrip().removesuffix(self._close.removesuffix("("))
        return self._filled(text + rest.rstrip()) if text or rest else ""

    def _decided(self, head: str) -> bool:
        plain = head.lstrip()
        if not plain:
            return False
        if len(head) > _LONGEST_HEAD or _WRAPPED.match(head):
            return True
        name = self._speaker.casefold()
        if name and len(plain) <= len(name) + 1 and f"{name}:".startswith(plain.casefold()):
            return False
        return not (_MAYBE_WRAPPED.match(head) and "\n\n" not in head) and not _may_open(head)

    def _opened(self, head: str) -> str:
        wrapped = _WRAPPED.match(head)
        if wrapped:
            self._close = wrapped["quote"] + "("
            return head[wrapped.end() :]
        preamble = _PREAMBLE.match(head)
        if preamble and preamble["fence"]:
            self._close = "```"
        head = head[preamble.end() :].lstrip() if preamble else head.lstrip()
        if self._speaker and head.casefold().startswith(f"{self._speaker.casefold()}:"):
            head = head[len(self._speaker) + 1 :].lstrip()
        if head.startswith('"') and not head.startswith('""'):
            self._close = '"'
            self._opening = True
            return head[1:]
        return head

    def _body(self, piece: str) -> str:
        text = self._held + self._tail + piece
        self._held = self._tail = ""
        begun = _BEGUN_FIELD.search(text)
        if begun:
            text, self._held = text[: begun.start()], text[begun.start() :]
        keep = 8 if self._close else 0
        if not self._held:
            trimmed = text.rstrip()
            cut = min(len(trimmed), max(0, len(text) - keep)) if keep else len(trimmed)
            text, self._tail = text[:cut], text[cut:]
        return self._filled(text)

    def _filled(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            filled = self._fill(found["braced"] or found["bare"])
            return found[0] if filled is None else filled

        text = _FIELD.sub(value, text)
        if self._close.endswith("("):
            text = text.replace("\\n", "\n").replace('\\"', '"')
        return text


def _may_open(head: str) -> bool:
    """Whether the beginning of a text may still become a preamble ("Sure, here is the message:") or a fence."""
    plain = head.lstrip().casefold()
    if len(plain) > _LONGEST_PREAMBLE:
        return False
    first, newline, rest = plain.partition("\n")
    if any(word.startswith(plain) or first.startswith(word) for word in _OPENERS):
        return not newline or (first.rstrip().endswith(":") and not rest.strip(" \n`"))
    return "```".startswith(plain) or (plain.startswith("```") and not newline)


async def spoken(pieces: AsyncIterator[str], filter_: Spoken, *, may_be_silent: bool) -> AsyncIterator[str]:
    """The words as they are shown. Raises WrongAnswer when there are none, though there should be."""
    begun = ""
    shown = False
    async for piece in pieces:
        text = filter_.feed(piece)
        if not text:
            continue
        if not shown:
            begun += text
            if begun.strip() in ("", SILENCE):
                continue
            text, begun, shown = begun.lstrip(), "", True
        yield text
    rest = begun + filter_.end()
    if shown:
        if rest:
            yield rest
        return
    if rest.strip() in ("", SILENCE):
        if may_be_silent:
            return
        raise WrongAnswer("the message is empty")
    yield rest.strip()
