"""A scripted model for a program that somebody tries: it answers as the talks do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from gateway.settings.tree import Settings
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk
from gateway.talks.staging.script import AnswerPieces, AnswerSource, Asker, first_question, wants_a_value
from gateway.talks.staging.stage import open_stage
from gateway.talks.talk import ScriptedReply, TalkScript
from runtime.bus import Bus
from runtime.core.errors import ConfigError, LLMRefused, ProgramError, UnscriptedQuestion
from runtime.core.plain_text import shortened
from runtime.core.prompt_forms import LineForm
from runtime.events import frames
from runtime.llm.client import CompletionRequest, LLMClient, ModelCompletion
from runtime.llm.models import DEFAULT, SERVICES, ModelRegistry, NoModelClient

_WROTE = re.compile(r' They wrote: "(.*?)"\. What did', re.DOTALL)
_FORM = re.compile(r" (?:They wrote: |Write nothing for this|Answer with |Write answer if |Only the message itself)")

_EXECUTES = re.compile(r"^You execute ", re.MULTILINE)
_TASK = re.compile(r".*?It must do this: ", re.DOTALL)
_NOW = re.compile(r" \(now .*?\)(?=[\s.,:;?!]|$)")
_ONE_VALUE = re.compile(r"\bAnswer with \w+ alone: (a text|its value|a whole number|a number|true \(yes\)).*\(null")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_YES_OR_NO = re.compile(r"\b(?:(yes|y|sure|ok|okay|please|true)|(no|n|nope|not|false))\b", re.IGNORECASE)
_QUESTIONS = ("execute", "decide")
_ASKS = tuple(
    form.partition("{")[0]
    for form in (
        *(LineForm.WRITE, LineForm.SPEAK, LineForm.ASKED, LineForm.WROTE, LineForm.ARGUMENTS_FOR, LineForm.THINK),
        *(LineForm.DECIDE, LineForm.ASK_AGAIN, LineForm.GO_ON_UNTIL, LineForm.UNWILLING, LineForm.COME_BACK),
        *(LineForm.CORRECTED, LineForm.REPLY, LineForm.IN_YOUR_ROLE, LineForm.TRIGGERED),
    )
)
"""The beginnings of the line that asks; nobody else's line begins so."""
_SHOWN_CHARS = 300
_SESSIONS = 1000
"""The sessions that are remembered, those that asked last."""

Tell = Callable[[str], None]
"""Prints a line for who tries the program."""


class Asked(Struct, frozen=True):
    """A question as it is asked again: by which agent, what it is about, and what people said last."""

    agent: str
    about: str
    heard: str


class TalkAnswer(Struct, frozen=True):
    """An answer of a talk, and the question that it answers there."""

    place: str
    talk: str
    text: str
    asked: Asked


def asked_by(agent: str, request: CompletionRequest) -> Asked:
    """The first question of a request."""
    last = request.messages[-1].content
    before, _, rest = last.partition(LineForm.FROM_PROGRAM)
    question = _task(first_question(rest or last))
    wrote = _WROTE.search(question)
    heard = wrote[1] if wrote else before
    return Asked(agent, " ".join(_FORM.split(question, maxsplit=1)[0].split()), " ".join(heard.split()))


def _task(question: str) -> str:
    """A question without what stands before it: what is known, what was said earlier, what was wrong with the last
    answer.
    """
    rows = question.removeprefix(LineForm.FROM_PROGRAM).strip().split("\n")
    first = next((number for number, row in enumerate(rows) if row.startswith(_ASKS)), 0)
    return "\n".join(rows[first:])


async def lines_of(files: Sequence[Path], settings: Settings) -> list[TalkAnswer]:
    """The answers of talk files, in their order. Raises ProgramError and ConfigError for files that are wrong.

    Of a talk that fails there are the answers up to its failure.
    """
    loader = TalkLoader()
    found: list[TalkAnswer] = []
    async with open_stage(settings) as stage:
        for loaded in [await loader.load(file) for file in files]:
            for talk in loaded.talks:
                noting = _Noting(loaded.answers(talk))
                await hold_talk(loaded, talk, stage, noting)
                found += [
                    TalkAnswer(_place(loaded, talk, text), talk.title, text, asked) for asked, text in noting.noted
                ]
    return found


def _place(loaded: LoadedTalks, talk: TalkScript, text: str) -> str:
    name = loaded.path.name
    number = next((reply.line for beat in talk.beats for reply in beat.replies if reply.text == text), None)
    return f"{name}, “{talk.title}”" if number is None else f"{name}:{number}"


class _Noting(AnswerSource):
    model = "noting"

    def __init__(self, answers: AnswerSource) -> None:
        self._answers = answers
        self.judges, self.alone = False, answers.alone
        self.noted: list[tuple[Asked, str]] = []
        self._asker: Asker = lambda _: ""

    def attach(self, asker: Asker, on_fault: Callable[[str], None], /) -> None:
        self._asker = asker
        self._answers.attach(asker, on_fault)

    def begin(self, replies: Sequence[ScriptedReply], /) -> None:
        self._answers.begin(replies)

    def unused(self) -> Sequence[ScriptedReply]:
        return self._answers.unused()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[ModelCompletion]:
        asked = asked_by(self._asker(request), request)
        async with self._answers.stream(request) as completion:
            if isinstance(completion, AnswerPieces):
                self.noted.append((asked, completion.text))
            yield completion


class _Session(Struct):
    """What was answered in a session: the lines that served, and the talk that it follows."""

    used: set[int] = field(default_factory=set)
    talk: str = ""


class ScriptedModel(LLMClient):
    """Answers a question that a talk has, too, with the answer there: after the same words of a person, not used yet,
    of the talk that the session follows, the earlier one.

    A question for one value, after words that no talk has, is answered by these words, or with nothing. Words that no
    line has are those of the step, in brackets. Other questions without a line are refused. Talk files are read again
    when they were saved.
    """

    model = "scripted"

    def __init__(self, files: Sequence[Path], settings: Settings, tell: Tell) -> None:
        self._files = files
        self._settings = settings
        self._tell = tell
        self._lines: Sequence[TalkAnswer] = ()
        self._saved: Sequence[int] = ()
        self._sessions: dict[str, _Session] = {}
        self._agents: dict[tuple[str, str], str] = {}
        self._asker: tuple[str, str] = ("", "")

    def models(self, bus: Bus) -> tuple[ModelRegistry, str]:
        """The models of a gateway, and a line about them. The bus says who asks."""
        for begun in (frames.FrameOpened, frames.FrameRestored):
            bus.hear(begun, lambda what, _: self._agents.update({what.key: what.about.agent}))
        for ended in (frames.FrameCompleted, frames.FrameFailed, frames.FrameStopped):
            bus.hear(ended, lambda what, _: self._agents.pop(what.key, None))
        bus.hear(frames.LLMRequested, self._note_question)
        clients: dict[str, LLMClient] = dict.fromkeys({DEFAULT, *self._settings.models} - {*SERVICES.values()}, self)
        clients["compile"] = NoModelClient("A scripted model compiles nothing.")
        files = ", ".join(file.name for file in self._files) or "no talks; words are those of the steps, in brackets"
        return ModelRegistry(clients), f"scripted ({files})"

    async def read(self) -> None:
        """Read and hold the talks. Raises ProgramError and ConfigError."""
        self._saved = self._times()
        self._lines = await lines_of(self._files, self._settings)
        self._sessions.clear()

    def _times(self) -> Sequence[int]:
        return [file.stat().st_mtime_ns if file.exists() else 0 for file in self._files]

    def _note_question(self, what: frames.LLMRequested, _at: datetime) -> None:
        self._asker = what.session_id, self._agents.get(what.key, "")

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[AnswerPieces]:
        session, agent = self._asker
        if self._saved != self._times():
            await self._read_again()
        if request.purpose not in _QUESTIONS:
            raise LLMRefused("A scripted model answers only what programs ask.")
        yield AnswerPieces(self._answer(session, agent, request))

    def _answer(self, session: str, agent: str, request: CompletionRequest) -> str:
        """Raises UnscriptedQuestion."""
        asked, question = asked_by(agent, request), first_question(request.messages[-1].content)
        state = self._sessions[session] = self._sessions.pop(session, _Session())
        if len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        number = self._best(state, asked)
        if number is not None and (
            _same(self._lines[number].asked.heard, asked.heard) or not _read(question, asked.heard)
        ):
            line = self._lines[number]
            state.used.add(number)
            state.talk = line.talk
            self._tell(f"scripted  {line.place} answers {agent or 'an agent'}")
            return line.text
        if value := _read(question, asked.heard):
            self._tell(f"scripted  no line has “{shortened(asked.heard, _SHOWN_CHARS)}”; it is read as {value}")
            return value
        if wants_a_value(question) or _EXECUTES.search(question):
            fault = f"No talk answers this question of {agent or 'an agent'}: “{shortened(asked.about, _SHOWN_CHARS)}”."
            self._tell(f"scripted  {fault}")
            raise UnscriptedQuestion(fault)
        return f"[{_NOW.sub('', _TASK.sub('', asked.about, count=1))}]"

    async def _read_again(self) -> None:
        try:
            await self.read()
        except (ProgramError, ConfigError) as error:
            self._tell(f"scripted  The talks stay as they were:\n{error}")

    def _best(self, state: _Session, asked: Asked) -> int | None:
        """The number of the line that fits best; None without any."""
        found: dict[int, tuple[bool, ...]] = {}
        for number, line in enumerate(self._lines):
            if (line.asked.agent, line.asked.about) == (asked.agent, asked.about):
                same = bool(asked.heard) and _same(line.asked.heard, asked.heard)
                found[number] = same, number not in state.used, line.talk == state.talk
        return max(found, key=lambda number: (found[number], -number), default=None)


def _same(one: str, other: str) -> bool:
    """Whether somebody wrote the same."""
    return one.casefold().strip(" .!?") == other.casefold().strip(" .!?")


def _read(question: str, heard: str) -> str:
    """What a person's words say to a question for one value: null where that is not clear; "" for other questions."""
    wanted = _ONE_VALUE.search(question)
    if wanted is None or not heard:
        return ""
    if wanted[1] in ("a text", "its value"):
        return heard
    found = (_NUMBER if wanted[1].endswith("number") else _YES_OR_NO).search(heard)
    if found is None:
        return "null"
    return found[0].replace(",", ".") if found.re is _NUMBER else "true" if found[1] else "false"
