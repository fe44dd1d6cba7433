"""Top-level Python statements from a stream of tokens, each as soon as it is complete."""

from __future__ import annotations

import ast
import keyword
import warnings

from runtime.execution.free.reply.lexer import (
    INSIGNIFICANT,
    BrokenCode,
    Kind,
    ReplyItem,
    ReplyRemark,
    ReplyStatement,
    Token,
)
from runtime.execution.free.reply.say_literal import SaidLiteral, begun_say

_COMPOUND = frozenset({"if", "for", "while", "with", "try", "def", "class", "async", "@"})
_CONTINUATIONS = frozenset({"elif", "else", "except", "finally"})
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}

_TOO_DEEP = "the statement is nested too deeply; use variables"
_TOO_LONG = "a number has too many digits; use a shorter one"


class StatementReader:
    """Takes tokens, adds `items`. A statement is parsed once, when its end is seen; `broken` is set by a Broken."""

    def __init__(self, items: list[ReplyItem]) -> None:
        self.broken = False
        self._items = items
        self._line = 1
        self._source: list[str] = []
        self._first_line = 1
        self._dollar_names: set[str] = set()
        self._literals = 0
        self._said: SaidLiteral | None = None
        self._head = ""
        self._last = Token(Kind.NEWLINE, "", 0)
        self._last_significant = self._last
        self._depth = 0
        self._at_line_start = True
        self._after_semicolon = False
        self._blank: list[str] = []
        """The indentation and the comment with which a logical line begins."""
        self._is_indented = False
        self._compound = False
        self._decorated = False
        self._held: list[tuple[int, str]] = []

    def take(self, token: Token) -> None:
        if not (self._at_line_start and self._take_blank(token)):
            if self._at_line_start:
                self._begin(token)
            if not self.broken:
                self._take_code(token)
            self._last = token
        self._line += token.text.count("\n")

    def finish(self) -> None:
        """The end of the code: an incomplete statement is Broken."""
        if self.broken:
            return
        if self._at_line_start:
            self._end_blank_line()
        self._at_line_start = True
        self._flush()

    def _take_blank(self, token: Token) -> bool:
        """Read the start of a logical line, as long as it has no code."""
        if token.kind is Kind.NEWLINE:
            self._end_blank_line()
        elif token.kind in (Kind.SPACE, Kind.COMMENT):
            self._blank.append(token.text)
        else:
            return False
        return True

    def _end_blank_line(self) -> None:
        line = "".join(self._blank)
        self._blank.clear()
        self._after_semicolon = False
        if not self._compound:
            self._add_remark(line, self._line)
        elif self._held or line.startswith("#"):
            self._held.append((self._line, line))
        else:
            self._source.append(line + "\n")

    def _add_remark(self, comment: str, line: int) -> None:
        text = comment.strip().lstrip("#").strip()
        if text:
            self._items.append(ReplyRemark(text, line))

    def _begin(self, token: Token) -> None:
        """The first code of a logical line continues the open compound statement or starts a new one."""
        self._at_line_start = False
        indented = bool(self._blank) and not self._after_semicolon
        if self._compound and (indented or self._decorated or token.text in _CONTINUATIONS):
            self._source.extend(text + "\n" for _, text in self._held)
            self._held.clear()
            self._source += self._blank
            if not indented:
                self._head = token.text
        elif indented:
            self._break("unexpected indent", self._line)
        else:
            self._flush()
            self._head = token.text
            self._first_line = self._line
            self._literals = 0
        self._is_indented = indented
        self._blank.clear()
        self._after_semicolon = False

    def _take_code(self, token: Token) -> None:
        if token.kind is Kind.UNCLOSED_STRING:
            self._break("unterminated string literal", self._line)
            return
        if self._starts_statement_in_brackets(token):
            self._break("a bracket was never closed", self._line)
            return
        if token.kind is Kind.OPERATOR:
            self._depth = max(0, self._depth + _DEPTH.get(token.text, 0))
        if self._depth == 0 and self._ends_statement(token):
            self._end_logical_line(token)
            return
        if token.kind not in INSIGNIFICANT:
            self._last_significant = token
            self._read_said(token)
        self._source.append(token.text)
        if token.kind is Kind.DOLLAR_NAME:
            self._dollar_names.add(token.text)

    def _read_said(self, token: Token) -> None:
        """The text of a `Say`, which is the second literal of its statement."""
        self._literals += token.kind is Kind.STRING_START
        if self._said is not None:
            self._items += self._said.take(token)
            self._said = None if self._said.over else self._said
        elif self._literals == 2 and token.kind is Kind.STRING_START:
            begun = begun_say("".join(self._source), token, self._first_line)
            if begun is not None:
                self._items.append(begun[0])
                self._said = begun[1]

    def _ends_statement(self, token: Token) -> bool:
        if token.kind is Kind.NEWLINE:
            return True
        return token.kind is Kind.OPERATOR and token.text == ";" and not (self._compound or self._head in _COMPOUND)

    def _starts_statement_in_brackets(self, token: Token) -> bool:
        """A line with `await` where an expression cannot start it: the bracket before it was never closed."""
        if (
            not self._depth
            or token.text != "await"
            or token.kind is not Kind.WORD
            or self._last.kind is not Kind.NEWLINE
        ):
            return False
        before = self._last_significant
        if before.kind is Kind.WORD:
            return not keyword.iskeyword(before.text)
        return before.kind in (Kind.STRING_END, Kind.DOLLAR_NAME) or before.text in (")", "]", "}")

    def _end_logical_line(self, token: Token) -> None:
        self._at_line_start = True
        self._after_semicolon = token.text == ";"
        if not self._after_semicolon:
            self._source.append("\n")
        if self._is_indented:
            return
        if self._head in _COMPOUND or self._last_significant.text == ":":
            self._compound = True
        self._decorated = self._head == "@"
        if not self._compound:
            self._flush()

    def _flush(self) -> None:
        """Gives the statement that was read, if there is one, and the comments behind it."""
        source = "".join(self._source).rstrip()
        dollar_names = frozenset(self._dollar_names)
        self._source.clear()
        self._dollar_names.clear()
        self._said = None
        self._compound = self._decorated = False
        if not source:
            return
        error = _syntax_error(source)
        if error is None:
            self._items.append(ReplyStatement(source, self._first_line, dollar_names))
            for line, text in self._held:
                self._add_remark(text, line)
            self._held.clear()
            return
        self._source.append(source)
        self._break(error[0], self._first_line + error[1] - 1)

    def _break(self, message: str, line: int) -> None:
        self.broken = True
        self._items.append(BrokenCode(message, line, "".join(self._source)))


def _syntax_error(source: str) -> tuple[str, int] | None:
    """The syntax error in `source` and its line; None for valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError as error:
        return _TOO_LONG if "integer string conversion" in error.msg else error.msg, error.lineno or 1
    except ValueError as error:
        return str(error), 1
    except (RecursionError, MemoryError):
        return _TOO_DEEP, 1
    return None
