"""A reply that answers several questions, read while it is written: `[1] first answer`, `[2] second answer`, …"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator

from msgspec import Struct

from runtime.llm.client import MAX_ANSWER_CHARS

_LONGEST_LABEL_LINE = 200
"""A line that has more characters and may still begin with a label is blanks: none is searched for in it."""

MAX_REPLY_CHARS = 9 * MAX_ANSWER_CHARS // 10
"""The length at which a reply is cut off, so that its words still fit a message."""

MAX_BLANKS = 200
"""The number of successive spaces and line ends that ends an answer which is no text."""

_LABEL = re.compile(r"[ \t]*(?:\*\*)?\[(\d{1,2})\]:?(?:\*\*)?:?[ \t]?")
_FENCE = re.compile(r"[ \t]*```\w*[ \t]*(?:\n|\Z)")
_BEGUN_FENCE = re.compile(r"[ \t]*`{1,3}\w*[ \t]*\Z")
_BEGUN = re.compile(r"[ \t]*(?:\*{0,2}|\*\*\[\d{0,2}|\*?\*?\[\d{0,2}\]?:?\*{0,2}:?[ \t]?)\Z")


class Begin(Struct, frozen=True):
    number: int


Part = Begin | str


class Sections:
    """Divides a text that comes in pieces at its labels. Only labels of questions that were asked count.

    Without a label at its beginning a reply begins with the first answer. How it was cut makes no difference. A fence
    around several answers is taken off, and answers that begin again after the last one are left out: by the first
    one's label, or by its first line.
    """

    def __init__(self, asked: int) -> None:
        self._asked = asked
        self._at = 0
        self._line_start = True
        self._preamble = False
        self._labelled = False
        self._fenced = False
        self._over = False
        self._held = ""
        self._opening = ""
        """The first line, if the first answer has no label and more answers follow."""

    def feed(self, piece: str, *, final: bool = False) -> list[Part]:
        """The answers that a piece adds."""
        text, self._held = self._held + piece, ""
        parts: list[Part] = []
        position = 0
        while position < len(text) and not self._over:
            if self._line_start:
                if not final and self._may_be_label(text, position):
                    self._held = text[position:]
                    return parts
                fence = _FENCE.match(text, position) if self._may_be_fence else None
                if fence is not None:
                    position, self._fenced = fence.end(), True
                    continue
                if self._at == self._asked > 1 and self._opening:
                    begun = text[position : position + len(self._opening)]
                    if begun == self._opening:
                        self._over = True
                        continue
                    if not final and self._opening.startswith(begun):
                        self._held = text[position:]
                        return parts
                label = _LABEL.match(text, position)
                if label is not None and self._begins(int(label[1]), parts):
                    position, self._line_start = label.end(), False
                    continue
            end = text.find("\n", position) + 1 or len(text)
            self._line_start = text[end - 1] == "\n"
            self._add(parts, text[position:end])
            position = end
        return parts

    @property
    def _may_be_fence(self) -> bool:
        return self._fenced or (self._at == 0 and self._asked > 1)

    def _may_be_label(self, text: str, position: int) -> bool:
        if len(text) - position > _LONGEST_LABEL_LINE:
            return False
        fence = self._may_be_fence and _BEGUN_FENCE.match(text, position)
        return bool(fence or _BEGUN.match(text, position))

    def _begins(self, number: int, parts: list[Part]) -> bool:
        """Whether a label starts an answer, or belatedly labels the first one."""
        if self._preamble and number == 1:
            self._preamble = False
            return True
        if self._at == self._asked > 1 and number == 1:
            self._over = True  # it answers all of it again
            return True
        if (self._at == 0 or self._preamble) and number > self._asked > 1:
            self._over = True  # nobody asked for this one: the answers are missing
            return True
        follows = self._labelled and number == self._at + 1  # to one question a model may give more answers than asked
        if not (self._at < number <= self._asked or follows):
            return False
        self._labelled = self._labelled or (self._asked == 1 and not self._at)
        self._at, self._preamble = number, False
        parts.append(Begin(number))
        return True

    def _add(self, parts: list[Part], text: str) -> None:
        if self._at == 0:
            if not text.strip():
                return
            self._at, self._preamble = 1, self._asked > 1
            parts.append(Begin(1))
        if self._preamble and not self._opening.endswith("\n"):
            self._opening += text
        parts.append(text)


class MissingAnswer(Exception):
    """The reply has no answer to the question; `follows` is the question that it answers next, None for none."""

    def __init__(self, follows: int | None = None) -> None:
        super().__init__(follows)
        self.follows = follows


class QuestionReply:
    """The answers of one reply, taken in their order, each as it arrives. Those that nobody wants are passed over."""

    def __init__(self, pieces: AsyncGenerator[str, None], asked: int) -> None:
        self._pieces = pieces
        self._sections = Sections(asked)
        self._parts: list[Part] = []
        self._ended = False
        self._at = 0
        self.chars = 0

    async def close(self) -> None:
        await self._pieces.aclose()

    async def words(self, number: int) -> AsyncIterator[str]:
        """The pieces of an answer. Raises MissingAnswer, and what the stream raises."""
        await self._go_to(number)
        while True:
            part = await self._next()
            if part is None:
                return
            if isinstance(part, Begin):
                self._parts.insert(0, part)
                return
            yield part

    async def answer(self, number: int, max_chars: int) -> str:
        """The whole of an answer, cut at `max_chars`, and where a model that is held to JSON writes only blanks."""
        text = ""
        async for piece in self.words(number):
            text += piece
            if len(text) > max_chars or len(text) - len(text.rstrip()) > MAX_BLANKS:
                break
        return text.strip()

    async def _go_to(self, number: int) -> None:
        while self._at < number:
            part = await self._next()
            if part is None:
                raise MissingAnswer
            if isinstance(part, Begin):
                if part.number > number:
                    self._parts.insert(0, part)
                    raise MissingAnswer(part.number)
                self._at = part.number
        if self._at > number:
            raise MissingAnswer

    async def _next(self) -> Part | None:
        while not self._parts:
            if self._ended:
                return None
            try:
                piece = await anext(self._pieces)
            except StopAsyncIteration:
                self._ended = True
                self._parts += self._sections.feed("", final=True)
                continue
            piece = piece[: MAX_REPLY_CHARS - self.chars]
            self.chars += len(piece)
            self._ended = self.chars >= MAX_REPLY_CHARS
            self._parts += self._sections.feed(piece, final=self._ended)
        return self._parts.pop(0)
