"""A model that is measured, and one whose replies stand in the talk file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio.lowlevel

from evals.record import Cost, Happening
from evals.talks import Reply
from runtime.core.clock import Clock
from runtime.core.errors import LLMRefused
from runtime.llm.client import CompletionRequest, LLMClient, ModelCompletion, Usage

_AGENT = re.compile(r"^(?:You are ([\w ]+)\.|You execute \w+ as (\w+) \(agent )", re.MULTILINE)
_LABEL = re.compile(r"^\[\d+\] ", re.MULTILINE)

_PIECE_CHARS = 4
"""A scripted reply comes in pieces of about a token."""


class Meter:
    """Counts what a model is asked and writes, and what of it people see, line by line."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s = clock.monotonic()
        self._line_s = self._began_s
        self._written = 0
        self._seen = False
        self.cost = Cost()
        self.course: list[Happening] = []

    def line_said(self) -> None:
        """A person has said something, or the program begins."""
        self._line_s, self._written, self._seen = self._clock.monotonic(), 0, False

    def asked(self, request: CompletionRequest) -> None:
        """The model is asked."""
        self.cost.calls += 1
        prompt = tuple(message.content for message in request.messages)
        self.cost.chars_in += sum(map(len, prompt))
        self.course.append(Happening("asked", prompt[-1], prompt))

    def wrote(self, chars: int) -> None:
        """A piece of an answer has come."""
        self.cost.chars_out += chars
        self._written += chars

    def answered(self, text: str, usage: Usage) -> None:
        """An answer is over, whole or not."""
        self.course.append(Happening("wrote", text))
        self.cost.tokens_in += usage.input_tokens
        self.cost.tokens_out += usage.output_tokens
        self.cost.uncounted += not usage.input_tokens

    def seen(self, chars: int) -> None:
        """People see this many characters more."""
        if not self._seen and chars > 0:
            self._seen = True
            self.cost.unseen_chars.append(max(0, self._written - chars))
            self.cost.first_visible_s.append(self._clock.monotonic() - self._line_s)

    def ended(self, chars_shown: int) -> None:
        """The run is over."""
        self.cost.chars_shown = chars_shown
        self.cost.seconds = self._clock.monotonic() - self._began_s


class Measured(LLMClient):
    """A model, counted by a meter."""

    def __init__(self, client: LLMClient, meter: Meter) -> None:
        self.model = client.model
        self._client = client
        self._meter = meter

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_MeasuredCompletion]:
        self._meter.asked(request)
        async with self._client.stream(request) as completion:
            measured = _MeasuredCompletion(completion, self._meter)
            try:
                yield measured
            finally:
                self._meter.answered(measured.text, completion.usage)


class _MeasuredCompletion:
    def __init__(self, completion: ModelCompletion, meter: Meter) -> None:
        self._completion = completion
        self._meter = meter
        self.text = ""

    @property
    def usage(self) -> Usage:
        return self._completion.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self._completion:
            self._meter.wrote(len(piece))
            self.text += piece
            yield piece


class Scripted(LLMClient):
    """Answers from a script: each question with the next reply of its agent, where that is to the question.

    Questions of one request that the next reply is not to are left out, as a model does whose condition does not hold.
    Refuses, with a sentence, when it has no answer to the first question of a request.
    """

    model = "scripted"

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = list(replies)

    @property
    def left(self) -> int:
        """Replies that nobody asked for."""
        return len(self._replies)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Pieces]:
        system, asked = request.messages[0].content, request.messages[-1].content
        named = _AGENT.search(system) or _AGENT.search(asked)
        agent = "".join(named.groups("")).replace(" ", "") if named else ""
        questions = _questions(asked)
        answers = [self.answer(agent, question) for _, question in questions]
        if answers[0] is None:
            raise LLMRefused(f"no scripted reply is to this question: {questions[0][1]}")
        labelled = zip((label for label, _ in questions), answers, strict=True)
        yield _Pieces("\n".join(label + answer for label, answer in labelled if answer is not None))

    def answer(self, agent: str, question: str) -> str | None:
        """The answer to a question of an agent; None for none."""
        reply = next((reply for reply in self._replies if reply.by in ("", agent)), None)
        if reply is None or re.search(reply.to, question, re.IGNORECASE) is None:
            return None
        self._replies.remove(reply)
        return reply.text


def _questions(asked: str) -> list[tuple[str, str]]:
    """The questions of a request, each with the label that its answer begins with, "" for one that is alone."""
    labels = list(_LABEL.finditer(asked))
    if not labels:
        return [("", asked)]
    ends = [label.start() for label in labels[1:]] + [len(asked)]
    texts = [asked[label.end() : end].strip() for label, end in zip(labels, ends, strict=True)]
    return list(zip(["", *(label[0] for label in labels[1:])], texts, strict=True))


class _Pieces:
    usage = Usage()

    def __init__(self, text: str) -> None:
        self._text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for start in range(0, len(self._text), _PIECE_CHARS):
            await anyio.lowlevel.checkpoint()
            yield self._text[start : start + _PIECE_CHARS]
