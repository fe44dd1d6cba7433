"""Files with talks, one after the other or in processes at the same time, and what came of them. A process that does
not answer is ended, and another goes on in its place.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from traceback import format_exception_only
from typing import TypeAlias

import anyio
from anyio import to_thread
from msgspec import Struct, field
from msgspec.structs import replace

from gateway.models.opening import open_models
from gateway.settings.tree import Settings
from gateway.talks import talk as forms
from gateway.talks.checks import TalkDifference, differences
from gateway.talks.holding import SILENCE_S, Holding
from gateway.talks.parsing.document import read_head, read_source, read_talks
from gateway.talks.results import TalkResult
from gateway.talks.staging.answers import LiveAnswers, RecordedAnswers, TalkRecording, read_recordings
from gateway.talks.staging.record import BeatRecord
from gateway.talks.staging.script import AnswerSource, ReplyScript
from gateway.talks.staging.stage import TalkStage, open_stage
from gateway.talks.staging.tools import KeptTools
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import AgentKind, Program
from runtime.language.syntax.source import TALKS
from runtime.llm.client import LLMClient

_PROGRAMS = (".pb", ".pbasm")
_READ = (*_PROGRAMS, TALKS)
_NAMED = f"Name a talk file, a program with talks beside it, or a folder; talks end in {TALKS}."
LIMIT_S = 30.0
"""How long a talk may take by the machine's clock."""

_GRACE_S = 2.0
"""The time beyond its limit that a talk may take before its process is ended."""

Job: TypeAlias = "tuple[LoadedTalks, forms.TalkScript]"


def in_other_words(beat: forms.TalkTurn) -> forms.TalkTurn:
    """A beat as a real model can pass it: exact words of agents may be others, and a judge says whether they mean the
    same. Words with gaps and patterns stay."""
    shown: list[forms.ExpectedWords | forms.TranscriptGap] = []
    sentences: list[forms.JudgedSentence] = []
    for one in beat.shown:
        if isinstance(one, forms.TranscriptGap) or not one.wording.exact:
            shown.append(one)
            continue
        shown.append(replace(one, wording=forms.ExpectedWording("…")))
        words = f"{one.who} says, perhaps in other words, what this says: “{one.wording}”"
        sentences.append(forms.JudgedSentence(one.line, words, one))
    return replace(beat, replies=[], shown=shown, expected=[*beat.expected, *sentences])


class LoadedTalks(Struct, frozen=True, eq=False):
    """A talk file, its program, and the recorded answers by the titles of its talks."""

    path: Path
    head: forms.TalkHead
    talks: tuple[forms.TalkScript, ...]
    program: Program
    recordings: Mapping[str, TalkRecording] = field(default_factory=dict)

    def answers(self, talk: forms.TalkScript) -> AnswerSource:
        recording = None if talk.scripted else self.recordings.get(talk.title)
        return ReplyScript() if recording is None or not recording.answers else RecordedAnswers(recording)

    def tools(self, talk: forms.TalkScript) -> KeptTools | None:
        """The tools of servers as they were kept with a talk; None where the servers are asked."""
        recording = self.recordings.get(talk.title)
        return None if recording is None else recording.tools


class TalkLoader(Struct):
    """Reads talk files; each program is compiled once."""

    _programs: dict[tuple[Path, ...], Program] = field(default_factory=dict)

    async def load(self, path: Path) -> LoadedTalks:
        """The talks of a file, and their program. Raises ProgramError for what is wrong in one of them, ConfigError for
        recorded answers that cannot be read."""
        source = read_source(path)
        head = read_head(source)
        program = await self.program(head)
        talks = read_talks(source, head, program)
        return LoadedTalks(path, head, talks, program, read_recordings(path))

    async def program(self, head: forms.TalkHead) -> Program:
        """The program of talks. Raises ProgramError."""
        program = self._programs.get(head.programs)
        if program is None:
            result = await compile_program([*map(str, head.programs)], lowerer=RulesLowerer())
            program = self._programs[head.programs] = result.program
        return program


def talk_files(paths: Sequence[Path]) -> list[Path]:
    """The talk files that are named, those beside programs and in folders that are named. Raises ConfigError."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(one for one in path.rglob(f"*{TALKS}") if not _hidden(one, path)))
        elif not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder. {file_advice(path, _READ, _NAMED)}")
        elif path.suffix in _PROGRAMS:
            talks = path.with_suffix(TALKS)
            if not talks.exists():
                raise ConfigError(f"{path}: it has no talks; write some in {talks}.")
            found[talks] = None
        else:
            found[path] = None
    return list(found)


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in path.relative_to(folder).parts)


async def hold_talk(
    loaded: LoadedTalks,
    talk: forms.TalkScript,
    stage: TalkStage,
    answers: AnswerSource | None = None,
    limit_s: float = LIMIT_S,
) -> TalkResult:
    """Hold one talk up to the first beat in which something differs; with other answers than those that are kept.

    Needs a loop made by `runtime.execution.frames.loop.FrameLoop`.
    """
    result = TalkResult(loaded.path, talk)
    answers = answers or loaded.answers(talk)
    began_s = time.process_time()
    with anyio.move_on_after(limit_s) as scope:
        try:
            await _hold(loaded, talk, stage, answers, result)
        except Exception as error:  # noqa: BLE001 - the other talks are to be held whatever goes wrong in this one
            text = "".join(format_exception_only(error)).strip()
            result.differences.append(TalkDifference(_last_line(result), "", f"the talk broke off: {text}"))
    if scope.cancelled_caught:
        text = f"it was not over after {limit_s:g} seconds"
        result.differences.append(TalkDifference(_last_line(result), "", text))
    result.seconds = time.process_time() - began_s
    if isinstance(answers, LiveAnswers):
        result.recording = TalkRecording(tuple(answers.noted), alone=answers.alone)
    return result


async def _hold(
    loaded: LoadedTalks, talk: forms.TalkScript, stage: TalkStage, answers: AnswerSource, result: TalkResult
) -> None:
    program, head = loaded.program, loaded.head
    tools = None if isinstance(answers, LiveAnswers) else loaded.tools(talk)
    if answers.judges:
        talk = replace(talk, beats=tuple(map(in_other_words, talk.beats)))
    first = next((agent.name for agent in program.agents if agent.kind is not AgentKind.HUMAN), "")
    async with Holding(program, talk, head, stage, answers, tools).open() as holding:
        for number, beat in enumerate(talk.beats):
            record = BeatRecord()
            result.records.append(record)
            coming = talk.beats[number + 1].act if number + 1 < len(talk.beats) else None
            waits = isinstance(beat.act, forms.TimePassed) and beat.act.at_once
            at_once = waits or (coming is not None and coming.at_once)
            await holding.hold(beat, record, silence_s=0.0 if at_once else SILENCE_S)
            result.unjudged += (
                0 if answers.judges else sum(isinstance(fact, forms.JudgedSentence) for fact in beat.expected)
            )
            result.differences = differences(beat, record, talk.never, answers.unused(), first)
            if result.differences:
                return


def _last_line(result: TalkResult) -> int:
    reached = result.talk.beats[max(0, len(result.records) - 1)].act
    return result.talk.line if reached is None else reached.line


class TalkPlan(Struct):
    """The talks of a run, and how they are held. `limit_s` is how long each may take; `live`: the numbers of those that
    the models of the settings answer."""

    settings: Settings
    jobs: Sequence[Job]
    limit_s: float
    live: frozenset[int] = frozenset()


class _Worker(Struct):
    process: BaseProcess
    pipe: Connection
    job: int
    until_s: float


class _Run(Struct):
    plan: TalkPlan
    start: Callable[[], tuple[BaseProcess, Connection]]
    waiting: list[int]
    working: list[_Worker] = field(default_factory=list)


def held_apart(plan: TalkPlan, workers: int) -> Iterator[tuple[int, TalkResult]]:
    """Hold all talks in so many processes; each result with its number, as it comes."""
    context = multiprocessing.get_context("fork")

    def start() -> tuple[BaseProcess, Connection]:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(plan, theirs), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    run = _Run(plan, start, list(range(len(plan.jobs)))[::-1])
    try:
        for _ in range(min(workers, len(plan.jobs))):
            _next(run, *start())
        while run.working:
            yield from _results(run)
    finally:
        for worker in run.working:
            worker.process.kill()
            worker.process.join()


def _next(run: _Run, process: BaseProcess, pipe: Connection) -> None:
    """Give a process its next talk; without one it ends."""
    if not run.waiting:
        with suppress(OSError):
            pipe.send(None)
        process.join()
        return
    job = run.waiting.pop()
    pipe.send(job)
    run.working.append(_Worker(process, pipe, job, time.monotonic() + run.plan.limit_s + _GRACE_S))


def _results(run: _Run) -> Iterator[tuple[int, TalkResult]]:
    """What has come, at the latest when the next process takes too long."""
    left_s = max(0.0, min(worker.until_s for worker in run.working) - time.monotonic())
    ready = wait([worker.pipe for worker in run.working], left_s)
    for worker in list(run.working):
        late = time.monotonic() > worker.until_s
        if worker.pipe not in ready and not late:
            continue
        run.working.remove(worker)
        result = _received(worker.pipe) if worker.pipe in ready else None
        if result is not None:
            yield worker.job, result
            _next(run, worker.process, worker.pipe)
            continue
        worker.process.kill()
        worker.process.join()
        loaded, talk = run.plan.jobs[worker.job]
        why = f"it blocked everything for {run.plan.limit_s:g} seconds" if late else "its process has died"
        yield worker.job, TalkResult(loaded.path, talk, differences=[TalkDifference(talk.line, "", why)])
        if run.waiting:
            _next(run, *run.start())


def _received(pipe: Connection) -> TalkResult | None:
    """The result of a talk; None from a process that has died."""
    try:
        received = pipe.recv()
    except (EOFError, OSError):
        return None
    assert isinstance(received, TalkResult)
    return received


def _work(plan: TalkPlan, pipe: Connection) -> None:
    """A process that holds the talks it is given, one after the other."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner, suppress(KeyboardInterrupt, EOFError):
        runner.run(_hold_given(plan, pipe))


async def _hold_given(plan: TalkPlan, pipe: Connection) -> None:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(open_stage(plan.settings))
        models: LLMClient | None = None
        while (number := await to_thread.run_sync(pipe.recv)) is not None:
            loaded, talk = plan.jobs[number]
            answers: LiveAnswers | None = None
            if number in plan.live:
                models = models or (await stack.enter_async_context(open_models(plan.settings)))[0]
                answers = LiveAnswers(models, alone=plan.settings.asks_alone)
            pipe.send(await hold_talk(loaded, talk, stage, answers, plan.limit_s))
