"""Reading a model's growing reply: its statements, its remarks, and the text of its messages."""

from __future__ import annotations

import re

from runtime.execution.free.reply.lexer import ReplyItem, ReplyLexer, ReplyProse
from runtime.execution.free.reply.statement_reader import StatementReader

_LINE_HEAD = 80
"""The number of a line's first characters that decide its kind."""

_FENCE = re.compile(r"[ \t]*`{3,}[ \t]*([\w+-]*)")
_PYTHON = frozenset({"python", "py", "python3"})
_UNFENCED_CODE = re.compile(
    r"await\s+[^\W\d][\w.]*\(|#\s*(?:recap|plan|resume|trig|yld|think|execution_id)\b[ \t]*[?:]|\$?[^\W\d]\w*\s*=[^=]"
)


class ReplyReader:
    r"""Takes a reply in pieces of any size and gives its items in order, each as soon as it is certain.

    A reply is one Python block. Prose around it is given as such; the fence may have no language or be missing, and
    a second Python block goes on with the first. How the text was cut makes no difference to the items, except that
    neighbouring SayText are to be joined. "\r\n" is read as "\n".

    When a reply broke off, leave out `close`: what was not complete is then not given.
    """

    def __init__(self) -> None:
        self._text = ""
        self._position = 0
        self._carriage = False
        self._lexer = ReplyLexer()
        self._items: list[ReplyItem] = []
        self._statements = StatementReader(self._items)
        self._in_code = False
        self._seen_code = False
        self._in_other_block = False
        self._in_prose_line = False
        self._prose: list[str] = []
        self._closed = False

    def feed(self, text: str) -> list[ReplyItem]:
        """The items that this piece completes."""
        if self._closed or self._statements.broken:
            return []
        text = ("\r" if self._carriage else "") + text
        self._carriage = text.endswith("\r")
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        self._text = self._text[self._position :] + text
        self._position = 0
        self._read(final=False)
        return self._given()

    def close(self) -> list[ReplyItem]:
        """The items that are complete because the reply has ended; a rest that is no statement is Broken."""
        items = self.feed("\n") if self._carriage else []
        if self._closed or self._statements.broken:
            return items
        self._read(final=True)
        self._closed = True
        if self._in_code:
            self._statements.finish()
        elif not self._statements.broken:
            self._end_prose()
        return items + self._given()

    def _given(self) -> list[ReplyItem]:
        items = self._items.copy()
        self._items.clear()
        return items

    def _read(self, *, final: bool) -> None:
        while self._position < len(self._text) and not self._statements.broken:
            step = self._read_code if self._in_code else self._read_prose
            if not step(final):
                break

    def _read_code(self, final: bool) -> bool:
        """One token, or a fence; False when more text is needed."""
        if self._lexer.between_tokens and self._text[self._position] == "`":
            head = self._line_head(final)
            if head is None:
                return False
            fence = _FENCE.match(head)
            if fence is not None:
                self._read_fence_in_code(head, fence[1])
                return True
        token = self._lexer.next(self._text, self._position, final=final)
        if token is None:
            return False
        self._position += token.size
        self._statements.take(token)
        return True

    def _read_fence_in_code(self, head: str, language: str) -> None:
        """The end of the code, unless the fence names Python, which means that an earlier fence was left out."""
        if language.lower() in _PYTHON and head.endswith("\n"):
            self._skip_line()
            return
        self._statements.finish()
        self._position += len(head) - len(head.lstrip("`"))
        self._in_code = False
        self._in_prose_line = True

    def _read_prose(self, final: bool) -> bool:
        """One line, or a piece of one; False while its kind is unclear."""
        if self._in_prose_line:
            self._take_prose()
            return True
        head = self._line_head(final)
        if head is None and not self._is_unfenced_code(self._text[self._position :]):
            return False
        opens = head is not None and self._opens_code(head)
        if opens or head is None or self._is_unfenced_code(head):
            self._end_prose()
            self._in_code = self._seen_code = True
            if opens:
                self._skip_line()
        else:
            self._take_prose()
        return True

    def _line_head(self, final: bool) -> str | None:
        """The start of the current line, as far as it decides; None while it is too short."""
        end = self._text.find("\n", self._position, self._position + _LINE_HEAD)
        if end >= 0:
            return self._text[self._position : end + 1]
        head = self._text[self._position : self._position + _LINE_HEAD]
        if len(head) == _LINE_HEAD:
            return head
        return head + "\n" if final else None

    def _is_unfenced_code(self, head: str) -> bool:
        return not self._seen_code and not self._in_other_block and _UNFENCED_CODE.match(head) is not None

    def _opens_code(self, head: str) -> bool:
        """Whether this line is a fence that starts our code. Tracks blocks in other languages."""
        fence = _FENCE.match(head)
        if fence is None or not head.endswith("\n"):
            return False
        language = fence[1].lower()
        if self._in_other_block:
            self._in_other_block = bool(language)
            return False
        if language in _PYTHON or not (language or self._seen_code):
            return True
        self._in_other_block = True
        return False

    def _end_prose(self) -> None:
        text = "".join(self._prose).strip()
        self._prose.clear()
        if text:
            self._items.append(ReplyProse(text))

    def _take_prose(self) -> None:
        end = self._text.find("\n", self._position) + 1 or len(self._text)
        self._prose.append(self._text[self._position : end])
        self._in_prose_line = not self._prose[-1].endswith("\n")
        self._position = end

    def _skip_line(self) -> None:
        end = self._text.find("\n", self._position)
        self._position = len(self._text) if end < 0 else end + 1
