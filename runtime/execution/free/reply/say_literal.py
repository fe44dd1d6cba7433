"""The text in a `Say`'s string literal, while the literal is still growing."""

from __future__ import annotations

import ast
import keyword
import re

from runtime.execution.free.reply.lexer import Kind, SayHeld, SayItem, SayName, SayStarted, SayText, Token

_GAP = r"(?:\s|\\\n|#[^\n]*\n)"
_HEAD = re.compile(
    rf"await{_GAP}+Say{_GAP}*\({_GAP}*(?:target{_GAP}*={_GAP}*)?(?P<target>[ruRU]?(?P<quote>'|\").*(?P=quote)){_GAP}*,"
    rf"{_GAP}*(?:message{_GAP}*={_GAP}*)?",
    re.DOTALL,
)
_ESCAPE = (
    r"\\(?:[\n\\'\"abfnrtv]|(?![4-7][0-7]{2})[0-7]{1,3}|N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_FIELD = r"(?P<brace>\{\{|\}\})|\{\s{0,20}(?P<name>[^\W\d]\w{0,100})\s{0,20}\}|(?P<other>[{}])"
_BEGUN_ESCAPE = r"\\(?:[0-7]{0,2}|x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|N(?:\{[^}\n]{0,100})?)"
_BEGUN_FIELD = r"\{\s{0,20}(?:[^\W\d]\w{0,100}\s{0,20})?|\}"


def _patterns(*, raw: bool, formatted: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a literal consists of, and what may be the beginning of more than one character of that."""
    escapes = [] if raw else [rf"(?P<escape>{_ESCAPE})|(?P<malformed>\\[xuUN0-7])|(?P<backslash>\\)"]
    plain = "[^" + ("" if raw else r"\\") + ("{}" if formatted else "") + "]+"
    parts = [
        *escapes,
        *([_FIELD] if formatted else []),
        f"(?P<plain>{plain})" if plain != "[^]+" else r"(?P<plain>(?s:.+))",
    ]
    begun = [*([] if raw else [_BEGUN_ESCAPE]), *([_BEGUN_FIELD] if formatted else [])]
    return re.compile("|".join(parts)), re.compile(f"(?:{'|'.join(begun) or '(?!)'})\\Z")


_PATTERNS = {(raw, fmt): _patterns(raw=raw, formatted=fmt) for raw in (False, True) for fmt in (False, True)}


def begun_say(source: str, quote: Token, line: int) -> tuple[SayStarted, SaidLiteral] | None:
    """The `await Say(target, "…")` as which a statement begins, when it comes to its second literal; None for another.

    `target=` and `message=` may be written, in this order.
    """
    head = _HEAD.fullmatch(source)
    if head is None or "b" in quote.prefix:
        return None
    try:
        return SayStarted(str(ast.literal_eval(head["target"])), line), SaidLiteral(quote)
    except (SyntaxError, ValueError):
        return None


class SaidLiteral:
    """Decodes what is said as Python would, token by token behind the first quote, until it is `over`.

    An escape or a placeholder that is not whole yet is kept for the next token. Adjacent literals are followed;
    anything else after a literal is a SayHeld, after which nothing more comes.
    """

    def __init__(self, quote: Token) -> None:
        self.over = False
        self._rest = ""
        self._begin(quote)

    def _begin(self, quote: Token) -> None:
        self._in_literal = True
        self._part, self._begun = _PATTERNS["r" in quote.prefix, "f" in quote.prefix]

    def take(self, token: Token) -> list[SayItem]:
        """The text that a significant token adds."""
        if self._in_literal:
            self._in_literal = token.kind is not Kind.STRING_END
            return self._decode(self._rest + token.text if self._in_literal else self._rest)
        if token.kind is Kind.STRING_START and "b" not in token.prefix:
            self._begin(token)
            return []
        self.over = True
        return [] if token.text in (",", ")") else [SayHeld()]

    def _decode(self, source: str) -> list[SayItem]:
        items: list[SayItem] = []
        text, position = "", 0
        while position < len(source) and not self.over:
            if self._in_literal and self._begun.match(source, position):
                break
            found = self._part.match(source, position)
            assert found is not None
            position = found.end()
            item = _meaning(found)
            if isinstance(item, str):
                text += item
                continue
            items += [SayText(text), item] if text else [item]
            text, self.over = "", isinstance(item, SayHeld)
        self._rest = source[position:]
        return [*items, SayText(text)] if text else items


def _meaning(part: re.Match[str]) -> str | SayName | SayHeld:
    text = part[0]
    match part.lastgroup:
        case "escape":
            try:
                return text.encode("ascii").decode("unicode_escape")
            except ValueError:  # no such character
                return SayHeld()
        case "brace":
            return text[0]
        case "name" if not keyword.iskeyword(part["name"]):
            return SayName(part["name"])
        case "plain" | "backslash":
            return text
    return SayHeld()
