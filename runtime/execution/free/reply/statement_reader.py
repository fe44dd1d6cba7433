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
from runtime.execution.free.reply.say_literal import SaidText, begun_say

_COMPOUND = frozenset({"if", "for", "while", "with", "try", "def", "class", "async", "@"})
_CONTINUATIONS = frozenset({"elif", "else", "except", "finally"})
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}

_TOO_DEEP = "the statement is nested too deeply; use variables"
_TOO_LONG = "a number has too many digits; use a shorter one"


class StatementReader:
    """Takes tokens, gives items. A statement is parsed once, when its end is seen; `broken` is set by a Broken."""

    def __init__(self) -> None:
        self.broken = False
        self._line = 1
        self._source: list[str] = []
        self._first_line = 1
        self._dollar_names: set[str] = set()
        self._literals = 0
        self._said: SaidText | None = None
        self._head = ""
        self._last = Token(Kind.NEWLINE, "", 0)
        self._last_significant = self._last
        self._depth = 0
        self._at_line_start = True
        self._after_semicolon = False
        self._indent: list[str] = []
        self._is_indented = False
        self._comment: list[str] = []
        self._compound = False
        self._decorated = False
        self._held: list[tuple[int, str]] = []

    def take(self, token: Token) -> list[ReplyItem]:
        """The items that this token completes."""
        items: list[ReplyItem] = []
        if self._at_line_start:
            if self._take_blank(token, items):
                self._line += token.text.count("\n")
                return items
            self._begin(token, items)
        if not self.broken:
            self._take_code(token, items)
        self._line += token.text.count("\n")
        self._last = token
        return items

    def finish(self) -> list[ReplyItem]:
        """The remaining items at the end of the code; an incomplete statement is Broken."""
        items: list[ReplyItem] = []
        if self.broken:
            return items
        if self._at_line_start:
            self._end_blank_line(items)
        else:
            self._at_line_start = True
        self._flush(items)
        return items

    def _take_blank(self, token: Token, items: list[ReplyItem]) -> bool:
        """Read the start of a logical line, as long as it has no code."""
        if token.kind is Kind.SPACE:
            self._indent.append(token.text)
        elif token.kind is Kind.COMMENT:
            self._comment.append(token.text)
        elif token.kind is Kind.NEWLINE:
            self._end_blank_line(items)
        else:
            return False
        return True

    def _end_blank_line(self, items: list[ReplyItem]) -> None:
        comment = "".join(self._comment)
        line = "".join(self._indent) + comment
        if self._compound:
            if self._held or (comment and not self._indent):
                self._held.append((self._line, line))
            else:
                self._source.append(line + "\n")
        else:
            self._add_remark(items, comment, self._line)
        self._indent.clear()
        self._comment.clear()
        self._after_semicolon = False

    @staticmethod
    def _add_remark(items: list[ReplyItem], comment: str, line: int) -> None:
        text = comment.strip().lstrip("#").strip()
        if text:
            items.append(ReplyRemark(text, line))

    def _begin(self, token: Token, items: list[ReplyItem]) -> None:
        """The first code of a logical line continues the open compound statement or starts a new one."""
        self._at_line_start = False
        indented = bool(self._indent) and not self._after_semicolon
        if self._compound and (indented or self._decorated or token.text in _CONTINUATIONS):
            self._source.extend(text + "\n" for _, text in self._held)
            self._held.clear()
            self._source += self._indent
            if not indented:
                self._head = token.text
        elif indented:
            self._break(items, "unexpected indent", self._line)
        else:
            self._flush(items)
            self._head = token.text
            self._first_line = self._line
            self._literals = 0
        self._is_indented = indented
        self._indent.clear()
        self._after_semicolon = False

    def _take_code(self, token: Token, items: list[ReplyItem]) -> None:
        if token.kind is Kind.UNCLOSED_STRING:
            self._break(items, "unterminated string literal", self._line)
            return
        if self._starts_statement_in_brackets(token):
            self._break(items, "a bracket was never closed", self._line)
            return
        if token.kind is Kind.OPERATOR:
            self._depth = max(0, self._depth + _DEPTH.get(token.text, 0))
        if self._depth == 0 and self._ends_statement(token):
            self._end_logical_line(token, items)
            return
        if token.kind not in INSIGNIFICANT:
            self._last_significant = token
            self._read_said(token, items)
        self._source.append(token.text)
        if token.kind is Kind.DOLLAR_NAME:
            self._dollar_names.add(token.text)

    def _read_said(self, token: Token, items: list[ReplyItem]) -> None:
        """The text of a `Say`, which is the second literal of its statement."""
        self._literals += token.kind is Kind.STRING_START
        if self._said is not None:
            items += self._said.take(token)
            self._said = None if self._said.over else self._said
        elif self._literals == 2 and token.kind is Kind.STRING_START:
            begun = begun_say("".join(self._source), token, self._first_line)
            if begun is not None:
                items.append(begun[0])
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

    def _end_logical_line(self, token: Token, items: list[ReplyItem]) -> None:
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
            self._flush(items)

    def _flush(self, items: list[ReplyItem]) -> None:
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
            items.append(ReplyStatement(source, self._first_line, dollar_names))
            for line, text in self._held:
                self._add_remark(items, text, line)
            self._held.clear()
            return
        self._source.append(source)
        self._break(items, error[0], self._first_line + error[1] - 1)

    def _break(self, items: list[ReplyItem], message: str, line: int) -> None:
        self.broken = True
        items.append(BrokenCode(message, line, "".join(self._source)))


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
