"""Files with talks, one after the other or at the same time, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from traceback import format_exception_only

import anyio

from gateway.talks.checks import Difference, differences
from gateway.talks.holding import SILENCE_S, Holding
from gateway.talks.parsing.document import read_head, read_source, read_talks
from gateway.talks.reports.results import TalkResult
from gateway.talks.staging.answers import Answers, Live, RecordedAnswers, TalkRecording, read_recordings
from gateway.talks.staging.record import BeatRecord
from gateway.talks.staging.script import ReplyScript
from gateway.talks.staging.stage import Stage
from gateway.talks.staging.tools import KeptTools
from gateway.talks.talk import Beat, Gap, Head, Judged, Shown, Talk, TalkFile, Waited, Wording
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import AgentKind, Program
from runtime.language.syntax.source import TALKS

_PROGRAMS = (".pb", ".pbasm")
_READ = (*_PROGRAMS, TALKS)
_NAMED = f"Name a talk file, a program with talks beside it, or a folder; talks end in {TALKS}."
LIMIT_S = 30.0
"""How long a talk may take by the machine's clock."""


def in_other_words(talk: Talk) -> Talk:
    """The talk as a real model can pass it: exact words of agents may be others, and a judge says whether they mean the
    same. Words with gaps and patterns stay."""
    return replace(talk, beats=tuple(map(_judged_beat, talk.beats)))


def _judged_beat(beat: Beat) -> Beat:
    shown: list[Shown | Gap] = []
    sentences: list[Judged] = []
    for one in beat.shown:
        if isinstance(one, Gap) or not one.wording.exact:
            shown.append(one)
            continue
        shown.append(replace(one, wording=Wording("…")))
        words = f"{one.who} says, perhaps in other words, what this says: “{one.wording}”"
        sentences.append(Judged(one.line, words, one))
    return replace(beat, replies=(), shown=tuple(shown), expected=(*beat.expected, *sentences))


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A talk file, its program, and the recorded answers by the titles of its talks."""

    file: TalkFile
    program: Program
    recordings: Mapping[str, TalkRecording] = field(default_factory=dict)

    def answers(self, talk: Talk) -> Answers:
        """The answers that stand in a talk, or were recorded."""
        recording = None if talk.scripted else self.recordings.get(talk.title)
        return ReplyScript() if recording is None or not recording.answers else RecordedAnswers(recording)

    def tools(self, talk: Talk) -> KeptTools | None:
        """The tools of servers as they were kept with a talk; None where the servers are asked."""
        recording = self.recordings.get(talk.title)
        return None if recording is None else recording.tools


@dataclass(slots=True)
class Loader:
    """Reads talk files; each program is compiled once."""

    _programs: dict[tuple[Path, ...], Program] = field(default_factory=dict)

    async def load(self, path: Path) -> Loaded:
        """The talks of a file, and their program. Raises ProgramError for what is wrong in one of them, ConfigError for
        recorded answers that cannot be read."""
        source = read_source(path)
        head = read_head(source)
        program = await self.program(head)
        talks = read_talks(source, head, program)
        return Loaded(TalkFile(path, head, talks), program, read_recordings(path))

    async def program(self, head: Head) -> Program:
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
    loaded: Loaded, talk: Talk, stage: Stage, answers: Answers | None = None, limit_s: float = LIMIT_S
) -> TalkResult:
    """Hold one talk up to the first beat in which something differs; with other answers than those that are kept.

    Needs a loop made by `runtime.execution.frames.loop.FrameLoop`.
    """
    result = TalkResult(loaded.file.path, talk)
    answers = answers or loaded.answers(talk)
    began_s = time.process_time()
    with anyio.move_on_after(limit_s) as scope:
        try:
            await _hold(loaded, talk, stage, answers, result)
        except Exception as error:  # noqa: BLE001 - the other talks are to be held whatever goes wrong in this one
            text = "".join(format_exception_only(error)).strip()
            result.differences.append(Difference(_last_line(result), "", f"the talk broke off: {text}"))
    if scope.cancelled_caught:
        text = f"it was not over after {limit_s:g} seconds"
        result.differences.append(Difference(_last_line(result), "", text))
    result.seconds = time.process_time() - began_s
    if isinstance(answers, Live):
        result.recording = TalkRecording(tuple(answers.noted), alone=answers.alone)
    return result


async def _hold(loaded: Loaded, talk: Talk, stage: Stage, answers: Answers, result: TalkResult) -> None:
    program, head = loaded.program, loaded.file.head
    tools = None if isinstance(answers, Live) else loaded.tools(talk)
    if answers.judges:
        talk = in_other_words(talk)
    first = next((agent.name for agent in program.agents if agent.kind is not AgentKind.HUMAN), "")
    async with Holding(program, talk, head, stage, answers, tools).open() as holding:
        for number, beat in enumerate(talk.beats):
            record = BeatRecord()
            result.records.append(record)
            coming = talk.beats[number + 1].act if number + 1 < len(talk.beats) else None
            at_once = any(act is not None and act.at_once for act in (coming, _wait_of(beat)))
            await holding.hold(beat, record, silence_s=0.0 if at_once else SILENCE_S)
            result.unjudged += 0 if answers.judges else sum(isinstance(fact, Judged) for fact in beat.expected)
            result.differences = differences(beat, record, talk.never, answers.unused(), first)
            if result.differences:
                return


def _wait_of(beat: Beat) -> Waited | None:
    return beat.act if isinstance(beat.act, Waited) else None


def _last_line(result: TalkResult) -> int:
    reached = result.talk.beats[max(0, len(result.records) - 1)].act
    return result.talk.line if reached is None else reached.line
