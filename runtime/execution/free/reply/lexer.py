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


_LONGEST_WORD = 200
"""The longest word in one token. Longer runs of letters come in several, so that they are not read again with every new
character.
"""


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

_PREFIX = r"(?i:[bf]r?|r[bf]?|u)?"
_DOLLAR_NAME = rf"\$(?P<DOLLAR_NAME>[^\W\d]\w{{0,{_LONGEST_WORD - 1}}})"
_BEGUN_WORD = rf"\\|\$?\w{{0,{_LONGEST_WORD - 1}}}|{_PREFIX}(?:''?|\"\"?)"
_IN_CODE = re.compile(
    r"(?P<SPACE>[ \t\f]+)|(?P<NEWLINE>\n)|(?P<JOINED_LINE>\\\n)|(?P<COMMENT>#[^\n]*)"
    rf"|(?P<STRING_START>{_PREFIX}(?:'''|\"\"\"|['\"]))"
    rf"|{_DOLLAR_NAME}|(?P<WORD>\w{{1,{_LONGEST_WORD}}})|(?P<OPERATOR>.)"
)
_IN_COMMENT = re.compile(r"(?P<COMMENT>[^\n]+)")
_IN_FIELD = re.compile(_DOLLAR_NAME)
_MAY_GROW = re.compile(rf"(?:{_BEGUN_WORD})\Z")
"""What may become another token by what follows it."""
_TEXT_MAY_GROW = re.compile(rf"(?:[{{}}]|{_BEGUN_WORD})\Z")


def _text_of(quote: str, *, formatted: bool) -> re.Pattern[str]:
    stops = rf"\\{quote[0]}" + ("" if len(quote) == 3 else r"\n") + ("{}$" if formatted else "")
    escape = r"\\(?:[^{}]|(?=[{}]))" if formatted else r"\\[\s\S]"
    return re.compile(f"(?:[^{stops}]+|{escape})+")


_TEXTS = {(quote, fmt): _text_of(quote, formatted=fmt) for quote in ('"', "'", '"""', "'''") for fmt in (False, True)}


class Token(Struct, frozen=True):
    """`text` is without a `$`; `size` is the number of characters read for it."""

    kind: Kind
    text: str
    size: int

    @property
    def prefix(self) -> str:
        """The lower-case letters before a string's quote."""
        return self.text.rstrip("'\"").lower()


class ReplyLexer:
    """Gives the next token of a growing text, or None while what is there may still become a longer one.

    Strings and comments come in pieces as they grow; a backslash and the character behind it are never apart.
    """

    def __init__(self) -> None:
        self._quote = ""
        self._text = _IN_COMMENT
        self._braces = 0
        self._comment = False

    @property
    def between_tokens(self) -> bool:
        """Whether the next character is code, outside strings and comments."""
        return not self._quote and not self._comment

    def next(self, text: str, position: int, *, final: bool) -> Token | None:
        """The token at `position`; `final` says that nothing will be added to `text`."""
        if position >= len(text):
            return None
        if self._quote:
            return self._in_string(text, position, final)
        self._comment = self._comment and text[position] != "\n"
        if not (self._comment or final) and _MAY_GROW.match(text, position):
            return None
        found = (_IN_COMMENT if self._comment else _IN_CODE).match(text, position)
        token = _token(found)
        self._comment = token.kind is Kind.COMMENT
        if token.kind is Kind.STRING_START:
            self._quote, self._braces = token.text[len(token.prefix) :], 0
            self._text = _TEXTS[self._quote, "f" in token.prefix]
        return token

    def _in_string(self, text: str, position: int, final: bool) -> Token | None:
        run, character = self._text.match(text, position), text[position]
        if run is not None:
            return Token(Kind.STRING_PART, run[0], len(run[0]))
        if text.startswith(self._quote, position):
            quote, self._quote = self._quote, ""
            return Token(Kind.STRING_END, quote, len(quote))
        if character == "\n":
            return Token(Kind.UNCLOSED_STRING, "", 0)
        if character == "$" and not self._braces:
            return Token(Kind.STRING_PART, character, 1)
        if not final and _TEXT_MAY_GROW.match(text, position):
            return None
        if named := _IN_FIELD.match(text, position):
            return _token(named)
        if character in "{}" and not self._braces and text.startswith(character, position + 1):
            return Token(Kind.STRING_PART, character * 2, 2)
        self._braces = max(0, self._braces + {"{": 1, "}": -1}.get(character, 0))
        return Token(Kind.STRING_PART, character, 1)


def _token(found: re.Match[str] | None) -> Token:
    assert found is not None
    assert found.lastgroup is not None
    kind = Kind[found.lastgroup]
    text = python_name(found[kind.name]) if kind is Kind.DOLLAR_NAME else found[kind.name]
    return Token(kind, text, len(found[0]))
