"""The words of a growing message: additions by models are removed, and values filled in."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence

from runtime.core.json_text import begins_json
from runtime.core.prompt_forms import LineForm
from runtime.execution.questions.form import WrongAnswer

SILENCE = "-"
"""The reply of a model that has nothing to say."""

_NOTHING = ("", SILENCE, '""', "null", "None")
_STATEMENTS = tuple(
    f"{awaited}{name}{mark}"
    for awaited in ("", "await ")
    for name in ("Step", "Trigger", "Var", "Yld", "Return", "EndProgram")
    for mark in "(["
)
"""The beginnings of statements, which are no words."""

_HEAD = 80
"""The number of first characters that decide what surrounds a text."""

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
_FENCE = re.compile(r"```(?P<kind>\w*)[ \t]*\n\s*")
_BEGUN_FENCE = re.compile(r"`{1,3}\w{0,20}[ \t]*\n?\s*\Z")
_KINDS_OF_PROSE = ("text", "txt", "plaintext", "markdown", "md")
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "\uff01", "\uff1f")
_LINE = 200
"""The number of characters of a fence's first line that decide whether it has sentences."""
_FIELD = re.compile(
    r"\{(?=[^{}\n]{1,60}\}) *\$?(?P<braced>[A-Za-z_]\w*(?:\.\w+|\[[\w'\" -]{0,40}\])*) *\}"
    r"|(?<![\w$])\$(?P<bare>[A-Za-z_]\w*)"
)
_TAIL = 80
"""The number of characters at the end of a text that decide whether something begins there."""
_BEGUN_FIELD = re.compile(r"\{[^{}\n]{0,60}\Z|(?<![\w$])\$\w{0,60}\Z")
_QUOTES = re.compile(r"\\*[\"']{1,3}\Z")
_BACKTICKS = re.compile(r"`{1,3}\Z")
_ESCAPES = {"\\n": "\n", "\\t": "\t"}


class SpeechCleaner:
    """Cleans the words of one message piece by piece. How the text was cut makes no difference.

    `fill` gives the text of a `{name}` or `$name`, None where it names nothing: then it stays. Quotes around the whole
    are taken off, and so are the beginning of the question, the speaker's name, one of `labels` or "Sure, here is the
    message:" before it, and a call of `Say` or a code fence around it. A fence stays where it holds code: where it
    names a language, or its first line is no sentence. The rest of a message that broke off (`goes_on`) stays as it is.
    """

    def __init__(
        self, fill: Callable[[str], str | None], speaker: str = "", labels: Sequence[str] = (), *, goes_on: bool = False
    ) -> None:
        self._fill = fill
        self._leading = [
            one.casefold() for one in (LineForm.FROM_PROGRAM, *([f"{speaker}:"] if speaker else []), *labels)
        ]
        self._head: str | None = None if goes_on else ""
        self._quote = ""
        self._call = False
        self._fenced = False
        self._over = False
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown now."""
        return self._read(piece, final=False)

    def end(self) -> str:
        return self._read("", final=True).rstrip()

    def _read(self, piece: str, *, final: bool) -> str:
        if self._head is not None:
            self._head += piece
            if not self._opened(final=final):
                return ""
            piece, self._head = self._head, None
        return self._body(self._held + piece, final=final)

    def _opened(self, *, final: bool) -> bool:
        """Remove text before the words; False while its end is unknown."""
        head = self._after_leading((self._head or "").lstrip(), final=final)
        if head is None or (not final and _may_open(head)):
            return False
        if preamble := _PREAMBLE.match(head):
            self._fenced = bool(preamble["fence"])
            head = head[preamble.end() :].lstrip()
        if wrapped := _WRAPPED.match(head[:_HEAD]):
            self._quote, self._call = wrapped["quote"], True
            head = head[wrapped.end() :]
        elif head.startswith("`"):
            return self._unfenced(head, final=final)
        elif not final and (head == '"' or (len(head) < _HEAD and _MAYBE_WRAPPED.match(head))):
            return False
        elif head.startswith('"') and not head.startswith('""'):
            return self._quoted(head, final=final)
        self._head = head
        return True

    def _after_leading(self, head: str, *, final: bool) -> str | None:
        """The text without what models write before it: the beginning of the question, the speaker's name. None while
        that is not known."""
        for leading in self._leading:
            if head[: len(leading)].casefold() == leading:
                head = head[len(leading) :].lstrip()
            elif not final and len(head) < len(leading) and leading.startswith(head.casefold()):
                return None
        return head

    def _unfenced(self, head: str, *, final: bool) -> bool:
        """Take off the fence that opens a text of sentences; False while it is not known what the fence holds."""
        if not final and (_BEGUN_FENCE.match(head) or (len(head) < _HEAD and _MAYBE_WRAPPED.match(head))):
            return False
        fence = _FENCE.match(head)
        if fence is None:
            self._head = head
            return True
        inside = head[fence.end() :]
        line, whole, _ = inside.partition("\n")
        if not (whole or final) and len(line) < _LINE:
            return False
        sentence = not fence["kind"] and line.rstrip("` \t").endswith(_SENTENCE_ENDS)
        self._fenced = sentence or fence["kind"].casefold() in _KINDS_OF_PROSE
        self._head = inside if self._fenced else head
        return True

    def _quoted(self, head: str, *, final: bool) -> bool:
        """Remove the quote that opens the whole text; False while it may belong to the first words alone."""
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
        text = text.rstrip()
        text = text.removesuffix("```").rstrip() if self._fenced else text
        return text.removesuffix(self._quote).rstrip() if self._quote and not self._over else text

    def _cut(self, text: str) -> tuple[str, str]:
        """The part that can be shown, and the part that may be the beginning of something else."""
        bare = text.rstrip()
        at = min(len(bare), _begins(_BEGUN_FIELD, text))
        if self._quote:
            at = min(at, _begins(_QUOTES, bare))
        if self._fenced:
            at = min(at, _begins(_BACKTICKS, bare))
        at = len(text[:at].rstrip())
        if self._call:
            at = len(text[:at].rstrip("\\"))  # an escape stays whole
        return text[:at], text[at:]

    def _filled(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            filled = self._fill(found["braced"] or found["bare"])
            return found[0] if filled is None else filled

        if self._call:
            text = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[0], found[1]), text, flags=re.DOTALL)
        return _FIELD.sub(value, text)


def _begins(pattern: re.Pattern[str], text: str) -> int:
    """The position where the text ends, or something that may end there begins. Blanks before that are not looked
    through: there may be many of them."""
    found = pattern.search(text, max(0, len(text) - _TAIL))
    return len(text) if found is None else found.start()


def _may_open(head: str) -> bool:
    """Whether the start of a text may still become "Sure, here is the message:" and a fence."""
    plain = head.casefold()
    if not plain or len(plain) > _HEAD:
        return False
    first, newline, rest = plain.partition("\n")
    if not any(word.startswith(plain) or first.startswith(word) for word in _OPENERS):
        return False
    return not newline or (first.rstrip().endswith(":") and (not rest.strip() or rest.strip() in ("`", "``", "```")))


def _text_of(text: str) -> str:
    """A text that may be JSON around the only words in it. Raises WrongAnswer for other JSON."""
    if not begins_json(text):
        return text
    try:
        data = json.loads(text)
    except ValueError:
        return text
    words = list(data.values()) if isinstance(data, dict) else []
    if len(words) == 1 and isinstance(words[0], str):
        return words[0]
    raise WrongAnswer("a message to people is a text, no JSON")


async def spoken(pieces: AsyncIterator[str], filter_: SpeechCleaner, *, may_be_silent: bool) -> AsyncIterator[str]:
    """The words for display. Raises WrongAnswer if there are none, though there should be."""
    begun = ""
    shown = False
    async for piece in pieces:
        text = filter_.feed(piece)
        if not text:
            continue
        if not shown:
            begun += text
            if _may_be_no_words(begun.strip()) or begins_json(begun):
                continue
            _refuse_statements(begun)
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
    _refuse_statements(rest)
    yield rest.strip()


def _may_be_no_words(begun: str) -> bool:
    """Whether the beginning of a message may become no message at all."""
    return any(one.startswith(begun) for one in (*_NOTHING, *_STATEMENTS) if one != begun or one in _NOTHING)


def _refuse_statements(text: str) -> None:
    if text.lstrip().startswith(_STATEMENTS):
        raise WrongAnswer("a message to people is a text, no code")
