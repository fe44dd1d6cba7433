"""The answers of talks by what they answer, found by holding the talks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.settings.tree import Settings
from gateway.talks.running import Loaded, Loader, hold_talk
from gateway.talks.staging.answers import Answers, Asker
from gateway.talks.staging.script import Pieces, first_question
from gateway.talks.staging.stage import open_stage
from gateway.talks.talk import Reply, Talk
from runtime.core.prompt_forms import Form
from runtime.llm.client import Completion, CompletionRequest

_WROTE = re.compile(r' They wrote: "(.*?)"\. What did', re.DOTALL)
_FORM = re.compile(r" (?:They wrote: |Write nothing for this|Answer with |Write answer if |Only the message itself)")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is asked again: by which agent, what it is about, and what people said last."""

    agent: str
    about: str
    heard: str


@dataclass(frozen=True, slots=True)
class TalkAnswer:
    """An answer of a talk, and the question that it answers there."""

    place: str
    talk: str
    text: str
    asked: Asked


def asked_by(agent: str, request: CompletionRequest) -> Asked:
    """The first question of a request."""
    last = request.messages[-1].content
    before, _, rest = last.partition(Form.FROM_PROGRAM)
    question = _task(first_question(rest or last))
    wrote = _WROTE.search(question)
    heard = wrote[1] if wrote else before
    return Asked(agent, " ".join(_FORM.split(question, maxsplit=1)[0].split()), " ".join(heard.split()))


def _task(question: str) -> str:
    """A question without what is known, and without what was wrong with the last answer."""
    rows = question.removeprefix(Form.FROM_PROGRAM).strip().split("\n")
    while len(rows) > 1 and rows[0].startswith(("Known: ", "Your last answer could not be used")):
        rows.pop(0)
    return "\n".join(rows)


async def lines_of(files: Sequence[Path], settings: Settings) -> list[TalkAnswer]:
    """The answers of talk files, in their order. Raises ProgramError and ConfigError for files that are wrong.

    Of a talk that fails there are the answers up to its failure.
    """
    loader = Loader()
    found: list[TalkAnswer] = []
    async with open_stage(settings) as stage:
        for loaded in [await loader.load(file) for file in files]:
            for talk in loaded.file.talks:
                noting = _Noting(loaded.answers(talk))
                await hold_talk(loaded, talk, stage, noting)
                found += [
                    TalkAnswer(_place(loaded, talk, text), talk.title, text, asked) for asked, text in noting.noted
                ]
    return found


def _place(loaded: Loaded, talk: Talk, text: str) -> str:
    name = loaded.file.path.name
    number = next((reply.line for beat in talk.beats for reply in beat.replies if reply.text == text), None)
    return f"{name}, “{talk.title}”" if number is None else f"{name}:{number}"


class _Noting:
    """The answers of a talk, each noted with its question."""

    model = "noting"

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.judges, self.alone = False, answers.alone
        self.noted: list[tuple[Asked, str]] = []
        self._asker: Asker = lambda _: ""

    @property
    def client(self) -> _Noting:
        return self

    def attach(self, asker: Asker, on_fault: Callable[[str], None], /) -> None:
        self._asker = asker
        self._answers.attach(asker, on_fault)

    def begin(self, replies: Sequence[Reply], /) -> None:
        self._answers.begin(replies)

    def unused(self) -> Sequence[Reply]:
        return self._answers.unused()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
        asked = asked_by(self._asker(request), request)
        async with self._answers.client.stream(request) as completion:
            if isinstance(completion, Pieces):
                self.noted.append((asked, completion.text))
            yield completion
