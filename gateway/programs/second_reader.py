"""The second reader: a model is shown each line of a program beside what Parley will do, in English, and is asked which
lines differ.

program ──> lines in English ──> one request (several, cut between playbooks, for a long program) ──> warnings

What it names is a warning. It never changes what a program does.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import regex
from anyio import to_thread
from msgspec import Struct

from gateway.programs.explanation import Line, explanation_of, leads_back, row_of
from gateway.programs.reloading import ProgramReloading, ReloadResult
from gateway.settings.tree import Settings
from runtime.authoring.explain import PartKind
from runtime.core.background import WakeSignal
from runtime.core.errors import CompileError, LLMError
from runtime.core.ids import digest_of
from runtime.core.plain_text import plain, whole_characters
from runtime.events.happening import Tell
from runtime.language.compiler import write_whole
from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.locking.decisions import answer_of
from runtime.language.program import Program
from runtime.llm.client import ChatMessage, LLMClient

LIMIT_S = 60.0
"""How long the model may take for a whole program."""

_MOST_CHARS = 40_000
"""The lines of one request: 10,000 tokens or so, which models on one's own machine take, too."""

_SHOWN = regex.compile(r"\X{0,300}")
"""What is shown of a doubt, to a whole character."""

_ANSWER = re.compile(r"^\W*L(\d+)\b[\W_]*(.*)$", re.MULTILINE)
_NONE = re.compile(r"\W*none\b", re.IGNORECASE)
_NO_ENGLISH = re.compile(r"\d+(?:\.\d+)*:[A-Z]{3}\b|@playbook\b")
_TASK = """\
Somebody wrote a program in plain English. Parley executes it, and has read each line. Below stands each line as its \
author wrote it, and behind `=>` what Parley will do.

Find the lines that Parley has misread: it does something else than the author says, leaves out something that \
matters, or adds something. Look at numbers and lists, at what `or`, `and` and `not` belong to, at who is asked or \
told, at what is kept under which $name, at what is waited for, repeated or called. Other words for the same are \
right. Whether the program is good is not asked.

How Parley says it: "A message to the user: X" - a model writes the message that X describes. "The answer: $x" - $x is \
taken from what they answer. "$x: X" - a model works out $x as X says. "Yes or no: X" - a model decides whether X is \
true. "A thought" - a model thinks, and nothing is kept of it. "Carry out with statements: X" - a model does X. \
"Go to 03" - continue with step 03.

Answer with one line for each misread line, and with nothing else: its number, a colon, and in a few words what the \
author means and Parley does not do, as in `L0: ...`. If there is none, answer with the one word: none
"""

OpenModel = Callable[[], AbstractAsyncContextManager[LLMClient | None]]
"""Opens the model that reads; None where there is none."""


class SecondReading(Struct, frozen=True):
    """What a model found: warnings, and for people one sentence about the reading, "" where there was none."""

    found: tuple[Diagnostic, ...] = ()
    said: str = ""


class Row(Struct, frozen=True):
    """A line of a program beside what is done. `step` is its place among the steps."""

    line: Line
    step: str
    words: str
    does: str

    def shown(self, number: int) -> str:
        return f"L{number} {'  ' * self.step.count('.')}{self.step} {self.words} => {self.does}"

    def warning(self, means: str, model: str) -> Diagnostic:
        text, shown = row_of(self.line), _SHOWN.match(means)[0]
        column = max(0, text.find(self.words[:10]))
        return Diagnostic(
            "a second reader understands this line otherwise than Parley",
            Span(self.line["file"], self.line["line"], column + 1),
            text,
            f"Parley: {self.does} {model}: {shown or 'that is something else.'}",
            "warning",
            len(text.rstrip()) - column,
        )


def rows_of(program: Program) -> Iterator[tuple[str, list[Row]]]:
    """The lines that Parley has read, by playbook. A step that a model carries out as it is written, and one
    that is written in PBAsm or Python, cannot be misread."""
    for playbook in explanation_of(program):
        grouped: list[tuple[Line, list[dict[str, str]]]] = []
        for line in playbook["lines"]:
            if grouped and not line["words"] and not leads_back(line) and grouped[-1][0]["line"] == line["line"]:
                grouped[-1][1].extend(line["parts"])
            elif line["words"] and row_of(line) and not _NO_ENGLISH.match(line["words"]):
                grouped.append((line, [*line["parts"]]))
        rows = [
            Row(line, line["location"].partition(":")[0], line["words"], " ".join(part["does"] for part in parts))
            for line, parts in grouped
            if any(part["kind"] != PartKind.FREE for part in parts)
        ]
        if rows:
            yield f"{playbook['agent']}.{playbook['playbook']}", rows


def requests_for(program: Program) -> list[dict[str, list[Row]]]:
    """The lines of each request, by playbook. What fits is asked at once."""
    found: list[dict[str, list[Row]]] = [{}]
    size = 0
    for name, rows in rows_of(program):
        length = sum(len(row.shown(0)) for row in rows)
        if size and size + length > _MOST_CHARS:
            found.append({})
            size = 0
        for row in rows:
            if size > _MOST_CHARS:
                found.append({})
                size = 0
            found[-1].setdefault(name, []).append(row)
            size += len(row.shown(0))
    return [one for one in found if one]


def request_text(program: Program, rows: Mapping[str, Sequence[Row]]) -> str:
    """What the model is shown: the program, and nothing else."""
    names = ", ".join(f"{agent.name}.{one.name}" for agent in program.agents for one in agent.playbooks)
    lines, number = [f"Playbooks: {names}"], 0
    for name, some in rows.items():
        lines.append(f"\n{name}")
        for row in some:
            number += 1
            lines.append(row.shown(number))
    return "\n".join(lines)


class SecondReader:
    """Has a model compare what stands in a program with what is done, one request after another: people ask the model,
    too. The last answer to each request of a program is kept, so that nothing is asked twice of the model that the
    settings name. One that is too slow is asked no more. `tell` hears what it costs."""

    def __init__(self, settings: Settings, open_model: OpenModel, tell: Tell, limit_s: float = LIMIT_S) -> None:
        self._folder = settings.data_dir / "compiled"
        self._named = f"{settings.model} {settings.model_file} {settings.models.get('compile')}"
        self._open_model = open_model
        self._tell = tell
        self._limit_s = limit_s
        self._is_slow = False

    async def read(self, program: Program) -> SecondReading:
        """What the model finds in a program, or has found in it before."""
        asked = await to_thread.run_sync(requests_for, program)
        texts = [request_text(program, rows) for rows in asked]
        kept = [self._kept(program.name, index, text) for index, text in enumerate(texts)]
        answers = await to_thread.run_sync(lambda: [one.answer() for one in kept])
        trouble = f"it takes longer than {self._limit_s:g} s; second_reader = false in [programs] turns this off"
        if None in answers and not self._is_slow:
            async with self._open_model() as model:
                if model is None:
                    return SecondReading()
                with anyio.move_on_after(self._limit_s) as scope:
                    for index, text in enumerate(texts):
                        if answers[index] is None:
                            try:
                                answer = plain(whole_characters(await answer_to(text, model, program.name, self._tell)))
                            except (LLMError, CompileError) as error:
                                trouble = str(error)
                                break  # the next would fail as well
                            answers[index] = (model.model, answer)
                            await to_thread.run_sync(kept[index].keep, model.model, answer)
                self._is_slow = scope.cancelled_caught
        return _reading(asked, answers, trouble)

    async def follow(
        self, programs: Mapping[str, Program], reloading: ProgramReloading, heard: Callable[[str, SecondReading], None]
    ) -> None:
        """Read each program that is served, now and after each reload, beside what serves it; `heard` is told of what
        is new."""
        reloads, came = [ReloadResult()], WakeSignal()
        reloading.done.subscribe(reloads.append, lambda _: came.send())
        told: dict[str, tuple[Program, SecondReading]] = {}
        while True:
            while reloads:
                reloads.clear()
                for name, program in list(programs.items()):
                    with contextlib.suppress(Exception):  # whatever it is, people are served
                        reading = await self.read(program)
                        of, before = told.get(name, (program, SecondReading()))
                        if programs.get(name) is program and (of is not program or reading != before):
                            told[name] = (program, reading)
                            heard(name, reading)
            await came.wait()

    def _kept(self, program: str, index: int, text: str) -> _Kept:
        asked = digest_of(_TASK, self._named, text)[:32]
        return _Kept(self._folder / f"second_reader_{digest_of(program)[:32]}_{index}.json", asked)


class _Kept(Struct, frozen=True):
    """The file of the last answer to a request of a program; `digest` is that of what is asked now."""

    path: Path
    digest: str

    def answer(self) -> tuple[str, str] | None:
        """The model and its answer; None where there is none to what is asked now."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            data: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            if data["asked"] == self.digest:
                return str(data["model"]), str(data["answer"])
        return None

    def keep(self, model: str, answer: str) -> None:
        data = {"asked": self.digest, "model": model, "answer": answer}
        write_whole(self.path, json.dumps(data, ensure_ascii=False).encode())


def _reading(
    asked: Sequence[Mapping[str, Sequence[Row]]], answers: Sequence[tuple[str, str] | None], trouble: str
) -> SecondReading:
    found: list[Diagnostic] = []
    count, said, models = 0, "", [answer[0] for answer in answers if answer]
    for request, answer in zip(asked, answers, strict=True):
        rows = [row for some in request.values() for row in some]
        if answer is None:
            said = f" Not all was read: {trouble}."
            continue
        model, text = answer
        named = named_in(text, len(rows))
        count += len(rows)
        if len(named) > max(3, len(rows) // 2):
            said = f" It doubts {len(named)} lines of {len(rows)}, which says more about the model: they are left out."
        elif not named and not _NONE.match(text):
            said = " Its answer names no line."
        else:
            found += [rows[number - 1].warning(means, model) for number, means in named.items()]
    if not models:
        return SecondReading((), f"No model has read the program a second time: {trouble}." if asked else "")
    parts = f" in {len(asked)} requests" if len(asked) > 1 else ""
    return SecondReading(tuple(found), f"{models[0]} has read {count} lines a second time{parts}.{said}")


async def answer_to(text: str, model: LLMClient, program: str, tell: Tell) -> str:
    """What a model says to the lines of a request. Raises LLMError, and CompileError where it does not end."""
    messages = (ChatMessage("system", _TASK, cacheable=True), ChatMessage("user", text))
    return await answer_of(model, messages, program, tell)


def named_in(answer: str, count: int) -> dict[int, str]:
    """The lines that an answer names, each with what the model says of it. Others than these `count` are ignored."""
    found: dict[int, str] = {}
    for match in _ANSWER.finditer(answer):
        if 0 < int(match[1]) <= count:
            found.setdefault(int(match[1]), " ".join(match[2].split()))
    return found
