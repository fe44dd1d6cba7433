"""The tokens of Python text that is still growing, as far as reading statements needs them, and what a model's reply is
read as.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from msgspec import Struct

from runtime.language.value_types import python_name


class ReplyProse(Struct, frozen=True):
    """Text outside the code, without the blanks around it; given once it is complete."""

    text: str


class ReplyRemark(Struct, frozen=True):
    """A comment on a separate line at the top level, without its "#": "recap: …", "trig? no", "resume: 3"."""

    text: str
    line: int


class ReplyStatement(Struct, frozen=True):
    """One complete top-level statement that parses as Python.

    `source` has no `$` before names; `dollar_names` are the names that had one. `line` counts from 1 in the code.
    """

    source: str
    line: int
    dollar_names: frozenset[str] = frozenset()


class SayStarted(Struct, frozen=True):
    """The head of a top-level `await Say(target, "…")` is known and its text begins; its statement comes later."""

    target: str
    line: int


class SayText(Struct, frozen=True):
    """The next piece of the text that is being said, with Python's escapes decoded."""

    text: str


class SayName(Struct, frozen=True):
    """A placeholder `{name}` of an f-string: here the text has the value of that variable."""

    name: str


class SayHeld(Struct, frozen=True):
    """The rest of this text is known only at the call's execution, so no more of it is streamed."""


class BrokenCode(Struct, frozen=True):
    """The code cannot become valid Python any more; nothing is read after it.

    `line` counts from 1 in the code, `source` is the statement as far as it was read.
    """

    message: str
    line: int
    source: str


SayItem = SayStarted | SayText | SayName | SayHeld
ReplyItem = ReplyProse | ReplyRemark | ReplyStatement | SayItem | BrokenCode


_PREFIXES = frozenset({"", "r", "u", "f", "b", "rf", "fr", "rb", "br"})
_SPACE = re.compile(r"[ \t\f]+")
_LONGEST_WORD = 200
"""The longest word in one token. Longer runs of letters come in several, so that they are not read again with every new
character.
"""

_WORD = re.compile(rf"\w{{1,{_LONGEST_WORD}}}")
_REST_OF_LINE = re.compile(r"[^\n]+")


class Kind(Enum):
    SPACE = auto()
    NEWLINE = auto()
    JOINED_LINE = auto()
    """A backslash at the end of a line."""
    COMMENT = auto()
    """A piece of a comment; the first one begins with "#"."""
    WORD = auto()
    DOLLAR_NAME = auto()
    """A name written `$name`; the text is the name."""
    STRING_START = auto()
    STRING_PART = auto()
    STRING_END = auto()
    OPERATOR = auto()
    """Any other character."""
    UNCLOSED_STRING = auto()
    """The line ended inside a string of one line."""


INSIGNIFICANT = frozenset({Kind.SPACE, Kind.NEWLINE, Kind.JOINED_LINE, Kind.COMMENT})


class Token(Struct, frozen=True):
    """`text` is without a `$`; `size` is the number of characters read for it."""

    kind: Kind
    text: str
    size: int
    prefix: str = ""
    """The lower-case letters before a string's quote."""


class _String(Struct):
    quote: str
    raw: bool
    formatted: bool
    plain: re.Pattern[str]
    braces: int = 0


def _plain_run(quote: str, formatted: bool) -> re.Pattern[str]:
    stops = "\\\\" + quote[0] + ("" if len(quote) == 3 else "\n") + ("{}$" if formatted else "")
    return re.compile(f"[^{stops}]+")


_PLAIN = {(quote, fmt): _plain_run(quote, fmt) for quote in ('"', "'", '"""', "'''") for fmt in (False, True)}


class ReplyLexer:
    """Gives the next token of a growing text, or None while what is there may still become a longer one.

    Strings and comments come in pieces as they grow; an escape and its backslash are never apart.
    """

    def __init__(self) -> None:
        self._string: _String | None = None
        self._comment = False

    @property
    def between_tokens(self) -> bool:
        """Whether the next character is code, outside strings and comments."""
        return self._string is None and not self._comment

    def next(self, text: str, position: int, *, final: bool) -> Token | None:
        """The token at `position`; `final` says that nothing will be added to `text`."""
        if position >= len(text):
            return None
        if self._string is not None:
            return self._in_string(self._string, text, position, final)
        if self._comment and text[position] != "\n":
            return self._run(_REST_OF_LINE, Kind.COMMENT, text, position)
        self._comment = False
        return self._in_code(text, position, final)

    def _in_code(self, text: str, position: int, final: bool) -> Token | None:
        character = text[position]
        if character == "\n":
            return Token(Kind.NEWLINE, character, 1)
        if character in " \t\f":
            return self._run(_SPACE, Kind.SPACE, text, position)
        if character == "#":
            self._comment = True
            return self._run(_REST_OF_LINE, Kind.COMMENT, text, position)
        if character in "'\"":
            return self._string_start("", text, position, final)
        if character in "\\$" and position + 1 == len(text) and not final:
            return None
        if character == "$":
            return self._dollar(text, position, final)
        if text.startswith("\\\n", position):
            return Token(Kind.JOINED_LINE, "\\\n", 2)
        word = _WORD.match(text, position)
        return Token(Kind.OPERATOR, character, 1) if word is None else self._word(word, text, final)

    def _word(self, word: re.Match[str], text: str, final: bool) -> Token | None:
        end = word.end()
        if end == len(text) and len(word[0]) < _LONGEST_WORD and not final:
            return None
        if text[end : end + 1] in ("'", '"') and word[0].lower() in _PREFIXES:
            return self._string_start(word[0], text, word.start(), final)
        return Token(Kind.WORD, word[0], len(word[0]))

    @staticmethod
    def _dollar(text: str, position: int, final: bool) -> Token | None:
        found = _WORD.match(text, position + 1)
        if found is None or found[0][0].isdigit():
            return Token(Kind.OPERATOR, "$", 1)
        if found.end() == len(text) and len(found[0]) < _LONGEST_WORD and not final:
            return None
        return Token(Kind.DOLLAR_NAME, python_name(found[0]), 1 + len(found[0]))

    def _string_start(self, prefix: str, text: str, position: int, final: bool) -> Token | None:
        begin = position + len(prefix)
        mark = text[begin]
        ahead = text[begin : begin + 3]
        if len(ahead) < 3 and ahead == mark * len(ahead) and not final:
            return None
        quote = mark * 3 if ahead == mark * 3 else mark
        letters = prefix.lower()
        formatted = "f" in letters
        self._string = _String(quote, "r" in letters, formatted, _PLAIN[quote, formatted])
        return Token(Kind.STRING_START, prefix + quote, len(prefix) + len(quote), letters)

    def _in_string(self, string: _String, text: str, position: int, final: bool) -> Token | None:
        run = string.plain.match(text, position)
        if run is not None:
            return Token(Kind.STRING_PART, run[0], len(run[0]))
        character = text[position]
        if character == "\\":
            return self._backslash(string, text, position, final)
        if character == string.quote[0]:
            return self._quote(string, text, position, final)
        if character == "\n":
            return Token(Kind.UNCLOSED_STRING, "", 0)
        return self._brace_or_dollar(string, text, position, final)

    @staticmethod
    def _backslash(string: _String, text: str, position: int, final: bool) -> Token | None:
        ahead = text[position + 1 : position + 3]
        named = string.formatted and not string.raw and ahead[:1] == "N"
        if not final and (not ahead or (named and len(ahead) < 2)):
            return None
        if string.formatted and ahead[:1] in ("{", "}"):
            size = 1
        elif named and ahead == "N{":
            size = 3
        else:
            size = 1 + len(ahead[:1])
        return Token(Kind.STRING_PART, text[position : position + size], size)

    def _quote(self, string: _String, text: str, position: int, final: bool) -> Token | None:
        quote = string.quote
        ahead = text[position : position + len(quote)]
        if ahead == quote:
            self._string = None
            return Token(Kind.STRING_END, quote, len(quote))
        if len(ahead) < len(quote) and ahead == quote[: len(ahead)] and not final:
            return None
        return Token(Kind.STRING_PART, ahead[0], 1)

    def _brace_or_dollar(self, string: _String, text: str, position: int, final: bool) -> Token | None:
        if position + 1 == len(text) and not final:
            return None
        character = text[position]
        if character == "$":
            named = self._dollar(text, position, final) if string.braces else Token(Kind.STRING_PART, "$", 1)
            return Token(Kind.STRING_PART, "$", 1) if named and named.kind is Kind.OPERATOR else named
        if not string.braces and text[position + 1 : position + 2] == character:
            return Token(Kind.STRING_PART, character * 2, 2)
        string.braces = max(0, string.braces + (1 if character == "{" else -1))
        return Token(Kind.STRING_PART, character, 1)

    @staticmethod
    def _run(pattern: re.Pattern[str], kind: Kind, text: str, position: int) -> Token:
        found = pattern.match(text, position)
        piece = found[0] if found else ""
        return Token(kind, piece, len(piece))
