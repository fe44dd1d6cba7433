"""One reply of the model in execution: resumed or repeated, verified, streamed, run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from runtime.execution.free.reply import lexer
from runtime.execution.free.reply.reader import ReplyReader
from runtime.execution.free.scope import Position, Rejected
from runtime.execution.free.statement import with_dollars, with_variables
from runtime.execution.free.statement_run import StatementRun
from runtime.execution.free.verifier import ends_turn, owed, verify, verify_say_head, verify_size
from runtime.execution.speech.live_stream import LiveStream
from runtime.llm.client import MAX_ANSWER_CHARS

MAX_STATEMENTS = 200
"""The most statements in a turn."""

_STREAMABLE = (str, int, bool)
"""Values whose `str()` is what an f-string shows; floats and others are left to the executed call."""

_LIKE_CODE = re.compile(
    r"\bawait\s+\w+(?:\.\w+)*\(|```|^[^\S\n]*(?:from\s+\w+\s+import\b|import\s+\w+$|def\s+\w+\(|(?:for|if|while)\b.*:$)",
    re.MULTILINE,
)
"""Text that nobody says to people: failed statements."""

_RESUME = (
    "{count} statements of the reply that broke off were executed; begin with `# resume: {count}`, or repeat all of "
    "them exactly"
)


class ReplyRun:
    """Feeds a reply to the statements of its frame. `over` says that the rest of the reply is not wanted; `rejected`
    why, if so.

    After a break the reply must begin with `# resume: <count>`, or repeat every executed statement exactly (then they
    are skipped). Anything else is refused before any of it runs or is shown. Where the last statement failed (`failure`
    says how), another one may stand in its place, and the same one may not.
    """

    def __init__(
        self, statements: StatementRun, executed: Sequence[str], failure: str | None = None, *, may_end: bool = False
    ) -> None:
        """`may_end`: a reply needs no `Yld` or `Return` at its end."""
        self.over = False
        self.rejected: Rejected | None = None
        self.said_anything = False
        self._statements = statements
        self._executed = [_normal(source) for source in executed]
        self._may_end = may_end
        self._failure = failure
        self._repeated = 0
        self._continues = not executed
        self._reader = ReplyReader()
        self._remarks: list[str] = []
        self._stream: LiveStream | None = None
        self._final: str | None = None
        self._prose = ""
        self._ran = False
        self._chars = 0
        self._number = 0

    async def feed(self, text: str) -> None:
        self.said_anything = self.said_anything or bool(text.strip())
        self._chars += len(text)
        if self._chars > MAX_ANSWER_CHARS:
            self._reject("length", f"the reply has more than {MAX_ANSWER_CHARS} characters; write less")
            return
        await self._run(self._reader.feed(text))

    async def close(self) -> None:
        """The reply is complete: run retained statements, or report what it lacks."""
        await self._run(self._reader.close())
        if self.over:
            return
        if self._final is not None:
            await self._accept(self._final)
        elif not self.said_anything:
            self._reject("empty", "the reply is empty; answer with one Python block")
        elif not self._continues:
            self._reject("resume", _RESUME.format(count=len(self._executed)))
        elif self._prose and not self._ran and not _LIKE_CODE.search(self._prose):
            await self._statements.say_plainly(self._prose)
            self.over = True
        elif self._prose and not self._ran:
            self._reject("format", "the reply is no Python block and no plain message", self._prose[:200])
        elif self._may_end and self._owes:
            self._reject("fence", owed(self._owes))
        elif self._may_end:
            await self._statements.accept("await Return()")
            self.over = True
        else:
            self._reject("end", "the reply ends without Yld or Return")

    @property
    def _owes(self) -> Sequence[str]:
        fenced = self._position().fenced
        return fenced.owes if fenced is not None else ()

    async def _run(self, items: Sequence[lexer.ReplyItem]) -> None:
        for item in items:
            if not self.over:
                await self._take(item)

    async def _take(self, item: lexer.ReplyItem) -> None:
        match item:
            case lexer.ReplyProse():
                self._prose += item.text
            case lexer.ReplyRemark():
                self._on_remark(item)
            case lexer.ReplyStatement():
                await self._on_statement(item)
            case lexer.SayStarted():
                await self._on_say_started(item)
            case lexer.SayText() if self._stream is not None:
                await self._stream.write(item.text)
            case lexer.SayName():
                await self._on_say_name(item)
            case lexer.SayHeld():
                self._stream = None
            case lexer.BrokenCode():
                self._reject("parse", f"{item.message} (line {item.line})", item.source)

    def _reject(self, rule: str, message: str, source: str = "") -> None:
        self._refuse(Rejected(rule, message, source))

    def _refuse(self, rejected: Rejected) -> None:
        self.rejected = rejected
        self.over = True
        self._stream = None

    def _on_remark(self, item: lexer.ReplyRemark) -> None:
        word, _, count = item.text.partition(":")
        if word.strip() != "resume":
            self._remarks.append(item.text)
            return
        if self._continues:
            return
        if count.strip() == str(len(self._executed)) and not self._repeated:
            self._continues = True
            self._number = len(self._executed)
        else:
            self._reject("resume", _RESUME.format(count=len(self._executed)))

    async def _on_statement(self, item: lexer.ReplyStatement) -> None:
        too_big = verify_size(item.source)
        if too_big is not None:
            self._refuse(too_big)
            return
        source = with_dollars(item.source, item.dollar_names)
        self._number += 1
        if self._number > MAX_STATEMENTS:
            self._reject(
                "length", f"more than {MAX_STATEMENTS} statements in one turn; end it with Yld or Return before"
            )
            return
        mends = self._at_failure and _normal(source) != self._executed[-1]
        if not self._continues and not mends:
            self._repeat(source)
            self._remarks.clear()
            return
        self._continues = True
        if self._final is not None:
            self._reject("end", f"nothing may follow {self._final}", source)
            return
        position = self._position()
        rejected = verify(with_variables(source, position.names, position.functions), position)
        if rejected is not None:
            self._refuse(rejected)
        elif ends_turn(source):
            self._final = source
        else:
            await self._accept(source)

    def _repeat(self, source: str) -> None:
        if _normal(source) != self._executed[self._repeated]:
            self._reject("resume", _RESUME.format(count=len(self._executed)), source)
            return
        if self._at_failure:
            self._reject("failed", f"this statement was executed and failed: {self._failure}", source)
            return
        self._repeated += 1
        self._continues = self._repeated == len(self._executed)

    @property
    def _at_failure(self) -> bool:
        """Whether everything was repeated except the last statement, which failed."""
        return self._failure is not None and self._repeated == len(self._executed) - 1

    def _position(self) -> Position:
        position = self._statements.position()
        position.ended = self._final is not None
        return position

    async def _accept(self, source: str) -> None:
        self._stream, self._ran = None, True
        remarks, self._remarks = self._remarks, []
        await self._statements.accept(source, remarks)
        if self._statements.halted:
            self.over = True

    async def _on_say_started(self, item: lexer.SayStarted) -> None:
        if not self._continues:
            return
        position = self._position()
        rejected = verify_say_head(item.target, position)
        if rejected is not None:
            self._refuse(rejected)
            return
        self._stream = await self._statements.open_stream(item.target)

    async def _on_say_name(self, item: lexer.SayName) -> None:
        if self._stream is None:
            return
        try:
            value = self._statements.value_of(item.name)
        except KeyError:
            value = None
        if isinstance(value, _STREAMABLE):
            await self._stream.write(str(value))
        else:
            self._stream = None


def _normal(source: str) -> str:
    return ast.unparse(ast.parse(source))
