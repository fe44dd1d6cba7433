"""The words of a message while they are written: what models put around them is taken off, values are filled in."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable

from runtime.execution.questions.question import WrongAnswer

SILENCE = "-"
"""What a model writes that has nothing to say."""

_NOTHING = ("", SILENCE, '""')

_HEAD = 80
"""So many characters decide what stands around a text."""

_WRAPPED = re.compile(
    r"(?:```\w*\s*)?(?:await\s+)?(?:self\.)?Say\(\s*[\"']?[\w ]{1,30}[\"']?\s*,\s*f?"
    r"(?P<quote>\"\"\"|\"(?=[^\"]|\"[^\"])|')",
    re.DOTALL,
)
_MAYBE_WRAPPED = re.compile(
    r"(?:`{1,2}|```\w*\s*)?(?:a|aw|awa|awai|await\s*)?(?:s|se|sel|self|self\.)?(?:S|Sa|Say|Say\(.*)?\Z", re.DOTALL
)
_OPENERS = ("sure", "certainly", "of course", "okay", "ok", "here")
_PREAMBLE = re.compile(
    rf"(?:{'|'.join(_OPENERS)})\b[^\n]{{0,70}}:[ \t]*(?:\n\s*)+(?P<fence>```\w*[ \t]*\n)?", re.IGNORECASE
)
_FIELD = re.compile(
    r"\{(?=[^{}\n]{1,60}\}) *\$?(?P<braced>[A-Za-z_]\w*(?:\.\w+|\[[\w'\" -]{0,40}\])*) *\}"
    r"|(?<![\w$])\$(?P<bare>[A-Za-z_]\w*)"
)
_BEGUN_FIELD = re.compile(r"\s*\{[^{}\n]{0,60}\Z|\s*(?<![\w$])\$\w{0,60}\Z")
_JSON = re.compile(r'\s*\{(?:\s*"|\s*\Z)')
_ESCAPES = {"\\n": "\n", "\\t": "\t"}


class Spoken:
    """Cleans the words of one message piece by piece. How the text was cut makes no difference.

    `fill` gives the text of a `{name}` or `$name`, None where it names nothing: then it stays. Quotes around the whole
    are taken off, and so are the speaker's name or "Sure, here is the message:" before it, and a call of `Say`
    around it.
    """

    def __init__(self, fill: Callable[[str], str | None], speaker: str = "") -> None:
        self._fill = fill
        self._speaker = f"{speaker}:".casefold() if speaker else ""
        self._head: str | None = ""
        self._quote = ""
        self._call = False
        self._fenced = False
        self._over = False
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        return self._read(piece, final=False)

    def end(self) -> str:
        """What was held back, when the text is complete."""
        return self._read("", final=True).rstrip()

    def _read(self, piece: str, *, final: bool) -> str:
        if self._head is not None:
            self._head += piece
            if not self._opened(final=final):
                return ""
            piece, self._head = self._head, None
        return self._body(self._held + piece, final=final)

    def _opened(self, *, final: bool) -> bool:
        """Take off what stands before the words; False while that is not known."""
        head = self._after_name((self._head or "").lstrip(), final=final)
        if head is None or (not final and _may_open(head)):
            return False
        if preamble := _PREAMBLE.match(head):
            self._fenced = bool(preamble["fence"])
            head = head[preamble.end() :].lstrip()
        if wrapped := _WRAPPED.match(head[:_HEAD]):
            self._quote, self._call = wrapped["quote"], True
            head = head[wrapped.end() :]
        elif not final and (head == '"' or (len(head) < _HEAD and _MAYBE_WRAPPED.match(head))):
            return False
        elif head.startswith('"') and not head.startswith('""'):
            return self._quoted(head, final=final)
        self._head = head
        return True

    def _after_name(self, head: str, *, final: bool) -> str | None:
        """The text without the speaker's name before it; None while that is not known."""
        name = self._speaker
        if head[: len(name)].casefold() == name:
            return head[len(name) :].lstrip() if name else head
        begun = len(head) < len(name) and name.startswith(head.casefold())
        return None if begun and not final else head

    def _quoted(self, head: str, *, final: bool) -> bool:
        """Take off the quote that opens the whole text; False while it may be one of the first words alone."""
        _, closing, rest = head[1:_HEAD].partition('"')
        if not final and len(head) < _HEAD and not rest.strip():
            return False
        alone = bool(closing and rest.strip())
        self._quote, self._head = ("", head) if alone else ('"', head[1:])
        return True

    def _body(self, text: str, *, final: bool) -> str:
        if self._over:
            return ""
        if self._call:
            closed = re.search(rf"(?<!\\){self._quote}\s*\)", text)
            if closed:
                self._over, final = True, True
                text = text[: closed.start()].rstrip()
        if final:
            self._held = ""
            return self._filled(self._closed(text))
        text, self._held = self._cut(text)
        return self._filled(text)

    def _closed(self, text: str) -> str:
        """A complete text without the quote that ends it."""
        text = text.rstrip()
        text = text.removesuffix("```").rstrip() if self._fenced else text
        return text.removesuffix(self._quote).rstrip() if self._quote and not self._over else text

    def _cut(self, text: str) -> tuple[str, str]:
        """What can be shown, and what may be the beginning of something else."""
        ends = [re.search(r"\s*\Z", text), _BEGUN_FIELD.search(text)]
        if self._quote:
            ends.append(re.search(r"\s*\\*[\"']{1,3}\s*\Z", text))
        if self._fenced:
            ends.append(re.search(r"\s*`{1,3}\s*\Z", text))
        if self._call:
            ends.append(re.search(r"\\+\Z", text))
        at = min(found.start() for found in ends if found)
        return text[:at], text[at:]

    def _filled(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            filled = self._fill(found["braced"] or found["bare"])
            return found[0] if filled is None else filled

        if self._call:
            text = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[0], found[1]), text, flags=re.DOTALL)
        return _FIELD.sub(value, text)


def _may_open(head: str) -> bool:
    """Whether the beginning of a text may still become "Sure, here is the message:" and a fence."""
    plain = head.casefold()
    if not plain or len(plain) > _HEAD:
        return False
    first, newline, rest = plain.partition("\n")
    if not any(word.startswith(plain) or first.startswith(word) for word in _OPENERS):
        return False
    return not newline or (first.rstrip().endswith(":") and (not rest.strip() or rest.strip() in ("`", "``", "```")))


def _text_of(text: str) -> str:
    """A text that may be JSON around the only words in it. Raises WrongAnswer for other JSON."""
    if not _JSON.match(text):
        return text
    try:
        data = json.loads(text)
    except ValueError:
        return text
    words = list(data.values()) if isinstance(data, dict) else []
    if len(words) == 1 and isinstance(words[0], str):
        return words[0]
    raise WrongAnswer("a message to people is a text, no JSON")


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
            if begun.strip() in _NOTHING or _JSON.match(begun):
                continue
            text, begun, shown = begun.lstrip(), "", True
        yield text
    rest = _text_of(begun + filter_.end()) if not shown else filter_.end()
    if shown:
        if rest:
            yield rest
        return
    if rest.strip() in _NOTHING:
        if may_be_silent:
            return
        raise WrongAnswer("the message is empty")
    yield rest.strip()
