"""The text in a `Say`'s string literal, while the literal is still growing."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Generator

from runtime.execution.free.reply.lexer import Kind, SayHeld, SayItem, SayName, SayStarted, SayText, Token

_HEAD = ("await", "Say", "(")
_SIMPLE_ESCAPES = {
    "\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:(?P<simple>[\n\\'\"abfnrtv])|(?P<octal>[0-7]{1,3})|N\{(?P<name>[^}]*)\}"
    r"|(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})))"
)
_BEGUN_ESCAPE = re.compile(
    r"\\(?:[0-7]{0,2}|x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|N(?:\{[^}\n]{0,100})?)\Z"
)
_FIELD = re.compile(r"\{\s{0,20}([^\W\d]\w{0,100})\s{0,20}\}")
_BEGUN_FIELD = re.compile(r"\{\s{0,20}(?:[^\W\d]\w{0,100}\s{0,20})?\Z")
_PLAIN = {False: re.compile(r"[^\\]+"), True: re.compile(r"[^\\{}]+")}
_PLAIN_RAW = {False: re.compile(r".+", re.DOTALL), True: re.compile(r"[^{}]+")}


class LiteralDecoder:
    """Decodes the inside of one string literal piece by piece, as Python would.

    `prefix` is the literal's letters in lower case, without "b". An escape or a placeholder that is not whole yet is
    kept for the next piece. After a SayHeld nothing more comes.
    """

    def __init__(self, prefix: str) -> None:
        self._raw = "r" in prefix
        self._formatted = "f" in prefix
        self._plain = (_PLAIN_RAW if self._raw else _PLAIN)[self._formatted]
        self._rest = ""
        self._held = False

    def feed(self, piece: str) -> list[SayItem]:
        """The text that `piece` adds."""
        return self._decode(self._rest + piece, final=False)

    def end(self) -> list[SayItem]:
        """The retained rest, after the closing quote."""
        return self._decode(self._rest, final=True)

    def _decode(self, source: str, *, final: bool) -> list[SayItem]:
        items: list[SayItem] = []
        texts: list[str] = []
        position = 0
        while position < len(source) and not self._held:
            if not final and self._is_begun(source, position):
                break
            item, size = self._next(source, position)
            position += size
            if isinstance(item, str):
                texts.append(item)
                continue
            _add_text(items, texts)
            items.append(item)
            self._held = isinstance(item, SayHeld)
        self._rest = source[position:]
        _add_text(items, texts)
        return items

    def _is_begun(self, source: str, position: int) -> bool:
        character = source[position]
        if character == "\\":
            return not self._raw and _BEGUN_ESCAPE.match(source, position) is not None
        if not self._formatted or character not in "{}":
            return False
        return position + 1 == len(source) or (
            source[position + 1] != character and _BEGUN_FIELD.match(source, position) is not None
        )

    def _next(self, source: str, position: int) -> tuple[str | SayName | SayHeld, int]:
        plain = self._plain.match(source, position)
        if plain is not None:
            return plain[0], len(plain[0])
        character = source[position]
        if character == "\\":
            return _escape(source, position)
        if source[position + 1 : position + 2] == character:
            return character, 2
        field = _FIELD.match(source, position)
        if field is None or keyword.iskeyword(field[1]):
            return SayHeld(), 1
        return SayName(field[1]), len(field[0])


def _add_text(items: list[SayItem], texts: list[str]) -> None:
    text = "".join(texts)
    texts.clear()
    if text:
        items.append(SayText(text))


def _escape(source: str, position: int) -> tuple[str | SayHeld, int]:
    found = _ESCAPE.match(source, position)
    if found is None:
        malformed = source[position + 1 : position + 2] in ("x", "u", "U", "N")
        return (SayHeld() if malformed else "\\"), 1
    size = len(found[0])
    if found["simple"] is not None:
        return _SIMPLE_ESCAPES[found["simple"]], size
    if found["octal"] is not None:
        return chr(int(found["octal"], 8)), size
    if found["name"] is not None:
        return _named_character(found["name"]), size
    code = int(found["x"] or found["u"] or found["U"], 16)
    return (chr(code) if code <= 0x10FFFF else SayHeld()), size


def _named_character(name: str) -> str | SayHeld:
    try:
        character = unicodedata.lookup(name)
    except KeyError:
        return SayHeld()
    return character if len(character) == 1 else SayHeld()


def say_items(line: int) -> Generator[list[SayItem], Token, list[SayItem]]:
    """Reads one statement's significant tokens as `await Say(target, "…")` and gives what is said.

    Sent the tokens one by one; returns as soon as nothing more can be streamed. `target=` and `message=` may be
    written, in this order. Adjacent literals are followed; anything else after the literal is a SayHeld.
    """
    token = yield []
    for expected in _HEAD:
        if token.text != expected:
            return []
        token = yield []
    token = yield from _skip_keyword("target", token)
    target, token = yield from _whole_literal(token)
    if target is None or token.text != ",":
        return []
    token = yield []
    token = yield from _skip_keyword("message", token)
    if token.kind is not Kind.STRING_START or "b" in token.prefix:
        return []
    items: list[SayItem] = [SayStarted(target, line)]
    while token.kind is Kind.STRING_START and "b" not in token.prefix:
        decoder = LiteralDecoder(token.prefix)
        piece = yield items
        while piece.kind is not Kind.STRING_END:
            items = decoder.feed(piece.text)
            if SayHeld() in items:
                return items
            piece = yield items
        items = decoder.end()
        if SayHeld() in items:
            return items
        token = yield items
        items = []
    return [] if token.text in (",", ")") else [SayHeld()]


def _skip_keyword(name: str, token: Token) -> Generator[list[SayItem], Token, Token]:
    if token.text != name:
        return token
    equals = yield []
    if equals.text != "=":
        return equals
    return (yield [])


def _whole_literal(token: Token) -> Generator[list[SayItem], Token, tuple[str | None, Token]]:
    if token.kind is not Kind.STRING_START or not {"f", "b"}.isdisjoint(token.prefix):
        return None, token
    source = token.text
    piece = yield []
    while piece.kind is not Kind.STRING_END:
        source += piece.text
        piece = yield []
    try:
        value = ast.literal_eval(source + piece.text)
    except (SyntaxError, ValueError):
        return None, piece
    return str(value), (yield [])
