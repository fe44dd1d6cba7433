"""A model whose answers stand in the talk."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from anyio.lowlevel import checkpoint

from gateway.talks.talk import Reply
from runtime.core.errors import LLMRefused
from runtime.llm.client import CompletionRequest, Usage

_LABEL = re.compile(r"^\[\d+\] ", re.MULTILINE)
_WANTS_A_VALUE = re.compile(r"\bAnswer with |\bwrite only `instead:`|\bWrite nothing for this")
_PIECE_CHARS = 40
_SHOWN_CHARS = 400


class ReplyScript:
    """Answers each question with the first reply of the beat that fits it, once.

    Of the questions of one request it answers the first alone, whatever else is asked ahead: so the order of the
    replies is that of the program. A question without a reply is a fault, and the request is refused.
    """

    model = "scripted"
    judges = False
    alone = False

    def __init__(self) -> None:
        self._asker: Callable[[CompletionRequest], str] = lambda _: ""
        self._on_fault: Callable[[str], None] = lambda _: None
        self._left: list[Reply] = []
        self._standing: list[Reply] = []

    @property
    def client(self) -> ReplyScript:
        """Itself."""
        return self

    def attach(self, asker: Callable[[CompletionRequest], str], on_fault: Callable[[str], None], /) -> None:
        self._asker, self._on_fault = asker, on_fault

    def begin(self, replies: Sequence[Reply], /) -> None:
        self._left = [reply for reply in replies if not reply.always]
        self._standing = [*(reply for reply in replies if reply.always), *self._standing]

    def unused(self) -> Sequence[Reply]:
        return self._left

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Pieces]:
        agent = self._asker(request)
        question = first_question(request.messages[-1].content)
        told = "\n".join(message.content for message in request.messages[1:])
        answer = self._answer(agent, question, told)
        if answer is None:
            fault = self._missing(agent, question)
            self._on_fault(fault)
            raise LLMRefused(fault)
        yield Pieces(answer)

    def _answer(self, agent: str, question: str, told: str) -> str | None:
        """The first reply that fits, once; else a standing one."""
        for reply in (*self._left, *self._standing):
            if fits(reply, agent, question) and has_words(told, reply.after):
                if not reply.always:
                    self._left.remove(reply)
                return reply.text
        return None

    def _missing(self, agent: str, question: str) -> str:
        shown = question if len(question) <= _SHOWN_CHARS else f"…{question[-_SHOWN_CHARS:]}"
        return f"{agent or 'An agent'} asked the model what no line here answers:\n{shown}"


def fits(reply: Reply, agent: str, question: str) -> bool:
    """Whether a reply may answer this question of an agent."""
    if reply.by not in ("", agent) or not has_words(question, reply.to):
        return False
    return not (reply.words and wants_a_value(question))


def wants_a_value(question: str) -> bool:
    """Whether a question is for a value or a choice, and not for words."""
    return _WANTS_A_VALUE.search(question) is not None


def has_words(question: str, words: str) -> bool:
    """Whether the words occur in a question, in any case; "age" does not in "message"."""
    spaced = r"\s+".join(map(re.escape, words.split()))
    return re.search(rf"(?<!\w){spaced}(?!\w)" if spaced else "", question, re.IGNORECASE) is not None


def first_question(asked: str) -> str:
    """The first question of a request, without those that are asked ahead together with it."""
    labels = list(_LABEL.finditer(asked))
    if not labels:
        return asked
    return asked[labels[0].end() : labels[1].start() if len(labels) > 1 else len(asked)].strip()


class Pieces:
    """An answer that is there already, in pieces."""

    usage = Usage(cost_usd=0.0)

    def __init__(self, text: str) -> None:
        self.text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for start in range(0, len(self.text), _PIECE_CHARS):
            await checkpoint()
            yield self.text[start : start + _PIECE_CHARS]
