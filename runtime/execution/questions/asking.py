"""Asking the model for one frame: several questions share a reply, each answer is taken as it arrives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from itertools import takewhile
from typing import Any

import anyio
from msgspec import Struct, field

from runtime.core.errors import ContextTooLong, LLMError, NoUsableAnswer
from runtime.events.frames import StepRejected
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import RecordedError
from runtime.execution.model_calls import ModelCalls, TranscriptCompaction
from runtime.execution.questions import form
from runtime.execution.questions.answers import MAX_ANSWER_CHARS, read_answer
from runtime.execution.questions.reply import MissingAnswer, QuestionReply
from runtime.llm.client import ChatMessage, CompletionRequest, ModelCompletion

_AROUND = " \t\n\"'“”`*.!?:"

MAX_TRIES = 3
"""A question is asked at most this often before its step fails."""

MAX_BREAKS = 2
"""A reply that breaks off is asked for again at most this often in a row."""

Plan = Callable[[], Sequence[form.Question]]
"""The questions that can be asked together with the first one, in the order of the program."""

Prompt = Callable[[str, form.Question], Awaitable[tuple[ChatMessage, ...]]]
"""The whole prompt around the text of the questions, of which this is the first."""


class CopiedInstruction(form.WrongAnswer):
    """The words of a message are those of its instruction."""


async def not_copied(pieces: AsyncIterator[str], instructions: Collection[str]) -> AsyncIterator[str]:
    """The pieces, held back as long as they may still become one of the instructions. Raises CopiedInstruction then.

    Other words pass from the first letter that differs.
    """
    wanted = {_plain(one) for one in instructions}
    held, holds = "", bool(wanted)
    async for piece in pieces:
        if not holds:
            yield piece
            continue
        held += piece
        begun = _plain(held)
        holds = any(one.startswith(begun) for one in wanted)
        if not holds:
            yield held
    if holds and _plain(held) in wanted:
        raise CopiedInstruction("it repeats the instruction; write the message itself, as the person should read it")
    if holds:
        yield held


async def up_to(example: str, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    """The pieces, without what a small model adds behind the example that it was given."""
    came, wanted = "", example.casefold()
    async for piece in pieces:
        before, came = came, came + piece
        at = came.casefold().find(wanted)
        if at < 0 or came[:at].rstrip(f"{_AROUND})").strip(_AROUND)[:1] not in ("", "("):
            yield piece
        elif len(before) < at + len(example):
            yield came[len(before) : at + len(example)]


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(_AROUND).casefold()


class _OpenReply(Struct):
    """A reply that is being read, and what ends with it."""

    reply: QuestionReply
    completion: ModelCompletion
    around: AsyncExitStack


class FrameQuestions(Struct, eq=False):
    """The questions of one frame. A reply that answers more than one is kept open until they are taken, or do not come.

    Use it from one task, and close it there. `parked` is called with the error when the model cannot be reached, and
    returns when the question is to be asked again. `doing` says for people what the agent does.
    """

    _context: ExecutionContext
    _frame: Frame
    calls: ModelCalls
    compaction: TranscriptCompaction
    _prompt: Prompt
    _parked: Callable[[LLMError], Awaitable[None]]
    _doing: Callable[[], str | None]
    _open: _OpenReply | None = None
    _numbers: dict[form.Key, int] = field(default_factory=dict)

    def blanks(self) -> str:
        text = "" if self._open is None else self.calls.reply
        return text[: len(text) - len(text.lstrip())]

    async def answer(self, plan: Plan) -> Any:
        """The checked answer to the first question of the plan. Raises NoUsableAnswer when none fits."""

        async def read(question: form.Question, reply: QuestionReply, number: int) -> Any:
            try:
                text = await reply.answer(number, MAX_ANSWER_CHARS)
            except MissingAnswer as missing:
                return self._told(question, missing)
            return read_answer(question, text)

        return await self._tried(plan, read)

    async def words(self, plan: Plan, say: Callable[[AsyncIterator[str]], Awaitable[None]]) -> None:
        """Have `say` take the words that answer the first question of the plan, as they come.

        It is called again when they break off, are none, or repeat their instruction; the latter once. Raises
        NoUsableAnswer when none fit.
        """
        corrected = False

        async def read(question: form.Question, reply: QuestionReply, number: int) -> Any:
            nonlocal corrected
            pieces = reply.words(number)
            if isinstance(question, form.WordsQuestion) and question.example:
                pieces = up_to(question.example, pieces)
            if corrected or not isinstance(question, form.WordsQuestion) or question.begun:
                return await say(pieces)
            try:
                return await say(not_copied(pieces, question.authored))
            except CopiedInstruction:
                corrected = True
                raise

        await self._tried(plan, read)

    def _told(self, question: form.Question, missing: MissingAnswer) -> Any:
        """The answer that the next one in the reply tells. Raises MissingAnswer where it tells none."""
        following = next((key for key, number in self._numbers.items() if number == missing.follows), None)
        outcome = (
            question.told_by.get(following)
            if following and isinstance(question, form.OutcomeChoice | form.UnderstandQuestion)
            else None
        )
        if outcome is None:
            raise missing
        return form.UnderstandAnswer(outcome, {}) if isinstance(question, form.UnderstandQuestion) else outcome

    async def _tried(self, plan: Plan, read: Callable[[form.Question, QuestionReply, int], Awaitable[Any]]) -> Any:
        wrong, tries, breaks = "", 0, 0
        while True:
            try:
                question, reply, number = await self._reply_for(plan, wrong)
                found = await read(question, reply, number)
            except MissingAnswer:
                wrong, tries = "there was no answer to this", tries + (len(self._numbers) <= 1)
            except form.WrongAnswer as error:
                wrong, tries = str(error), tries + 1
                self.calls.publish(StepRejected(*self.calls.at, "answer", wrong))
                if self._context.watcher is not None:
                    await self._context.watcher.refused(self._frame, "answer", wrong)
            except LLMError as error:
                if isinstance(error, RecordedError):  # of a playbook that was given the words: the model has answered
                    raise
                breaks = await self._broke_off(error, breaks)
                continue
            else:
                if number == len(self._numbers):
                    await self.close()
                return found
            await self.close()
            if tries >= MAX_TRIES:
                raise NoUsableAnswer(f"the model did not answer what {self._frame.place} asks: {wrong}")

    async def _broke_off(self, error: LLMError, breaks: int) -> int:
        """The reply has broken off, or did not come; returns how many have in a row, when it is to be asked again."""
        said_anything = self._open is not None and bool(self.calls.reply.strip())
        self.calls.broke_off(error)
        await self.close(ended=False)
        if isinstance(error, ContextTooLong) and await self.compaction.shorten():
            return breaks
        if breaks < MAX_BREAKS and said_anything:
            return breaks + 1
        await self._parked(error)
        return 0

    async def _reply_for(self, plan: Plan, wrong: str) -> tuple[form.Question, QuestionReply, int]:
        """The reply that answers the first question: the one that is being read, or a new one."""
        questions = list(plan())
        first = questions[0]
        if self._open is not None and not wrong and first.key in self._numbers:
            return first, self._open.reply, self._numbers[first.key]
        await self.close()
        if wrong or self._context.alone:
            questions = [first]
        elif self.calls.decides_elsewhere:
            words = isinstance(first, form.WordsQuestion)
            questions = list(takewhile(lambda one: isinstance(one, form.WordsQuestion) is words, questions))
        self._numbers = {question.key: number for number, question in enumerate(questions, 1)}
        schema = form.schema_of(first) if len(questions) == 1 else None
        worded = any(isinstance(question, form.WordsQuestion) for question in questions)
        temperature = None if worded and not self._context.alone else 0.0
        prompt = await self._prompt(form.asked(questions, wrong), first)
        purpose = "execute" if worded else "decide"
        request = self.calls.addressed(CompletionRequest(prompt, purpose, temperature=temperature, schema=schema))
        await self.calls.begin(request)
        async with AsyncExitStack() as opening:
            opening.enter_context(self._context.pages.presence.working(self._frame.state.agent, self._doing()))
            completion = await opening.enter_async_context(self.calls.answer(request))
            reply = QuestionReply(self._heard(completion), len(questions))
            self._open = _OpenReply(reply, completion, opening.pop_all())
        return first, reply, 1

    async def _heard(self, completion: ModelCompletion) -> AsyncGenerator[str, None]:
        async for piece in completion:
            self.calls.heard(piece, completion.usage)
            yield piece
            self.calls.reads_on()

    async def close(self, *, ended: bool = True) -> None:
        closing, self._open = self._open, None
        if closing is None:
            return
        with anyio.CancelScope(shield=True):
            await closing.reply.close()
            await closing.around.aclose()
        if ended:
            self.calls.end(closing.completion)
        else:
            self.calls.left(closing.completion.usage)
