"""The runner: every program with its talk, on scripted replies or a real model, one after the other."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from evals.checks import problems
from evals.conversation import Stage, run_once
from evals.models import Scripted
from evals.readings import measure, requests
from evals.results import ResultFile, Run
from evals.table import Result, show
from evals.talks import Case, TalkRejected, cases
from gateway.assembly.parts import open_sandbox
from gateway.models.opening import open_model
from gateway.settings.tree import Settings, load
from runtime.core.clock import SystemClock
from runtime.core.errors import ParleyError
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.llm.client import LLMClient

PROGRAMS = [Path(__file__).parent / name for name in ("programs", "unseen")]
"""The folders of the evals: those on which wording was tuned, and those that nobody looks at while it is."""

RESULTS = Path(".parley/evals")
"""Where the runs of real models are kept."""

OnRun = Callable[[str, Run], None]
"""Hears of each run, with the program's name."""

_NEXT_LINE = "\n" + " " * 9


class Report(Struct):
    """What came of the runs until now. `file` is where they are kept."""

    model: str = Scripted.model
    results: list[Result] = field(default_factory=list)
    file: ResultFile | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evals and print the table, also of those that were run when Ctrl-C came.

    The exit code is 1 where a scripted run was wrong, 2 where nothing could run, 130 after Ctrl-C. On a real model it
    is 0: what is right there is a figure, and no condition.
    """
    asked = _parser().parse_args(arguments)
    report, stopped = Report(), False
    try:
        if asked.readings:
            asyncio.run(_read(_settings(asked)))
            return 0
        found = cases(*asked.programs, only=asked.only)
        if not found:
            raise TalkRejected(f"no program's name contains any of: {asked.only}")
        settings = _settings(asked)
        with asyncio.Runner(loop_factory=FrameLoop) as runner:
            runner.run(_run_all(found, settings, asked, report))
    except (TalkRejected, ParleyError) as error:
        print(f"evals: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        stopped = True
    print(show(report.model, report.results))
    if report.file is not None:
        print(f"\nAll that happened is in {report.file.path}.")
    if stopped:
        return 130
    scripted_wrong = any(result.right < len(result.runs) for result in report.results)
    return 1 if scripted_wrong and not _real(asked) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument(
        "--model", help="litellm's name of a model, such as openai/gpt-…, or a GGUF file; none: scripted replies"
    )
    parser.add_argument("--url", help="where an OpenAI server of that model listens, such as http://127.0.0.1:8080/v1")
    parser.add_argument(
        "--readings", action="store_true", help="in place of the programs: what the model finds as a second reader"
    )
    parser.add_argument("--alone", action="store_true", help="ask one question at a time, as for small models")
    parser.add_argument("--times", type=_positive, default=1, help="how often each program is run")
    parser.add_argument("--only", default="", help="parts of programs' names, with commas")
    parser.add_argument("--limit-s", type=float, default=900.0, help="seconds that a run may take")
    parser.add_argument("--course", action="store_true", help="tell on standard error what happens in each run")
    parser.add_argument(
        "--results", type=Path, help="the file that each run is added to; what is in it already is not run again"
    )
    parser.add_argument(
        "--programs", type=Path, nargs="+", default=PROGRAMS, help="the folders of the programs and talks"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _real(asked: argparse.Namespace) -> bool:
    return bool(asked.model or asked.url)


def _settings(asked: argparse.Namespace) -> Settings:
    """The settings of a gateway, with the model that is asked for."""
    flags: dict[str, Any] = {}
    if asked.model:
        flags["model_file" if asked.model.endswith(".gguf") else "model"] = asked.model
    if asked.url:
        flags |= {"model": asked.model or "openai/local", "model_base_url": asked.url}
    return load(flags=flags)


def _file_of(asked: argparse.Namespace, model: str) -> ResultFile | None:
    """Where the runs are kept: those of a real model always."""
    if asked.results is None and not _real(asked):
        return None
    name = f"{re.sub(r'[^A-Za-z0-9.-]+', '-', model)}-{SystemClock().now():%Y%m%d-%H%M%S}.jsonl"
    return ResultFile.opened(asked.results or RESULTS / name, model)


async def _read(settings: Settings) -> None:
    async with open_model(settings) as model:
        await measure(model, await requests(), partial(print, flush=True))


async def _run_all(found: Sequence[Case], settings: Settings, asked: argparse.Namespace, report: Report) -> None:
    async with AsyncExitStack() as stack:
        model: LLMClient | None = None
        if _real(asked):
            model = await stack.enter_async_context(open_model(settings))
            report.model = model.model
            await model.warm_up()
        report.file = _file_of(asked, report.model)
        alone = asked.alone or (model is not None and settings.asks_alone)
        sandbox = await stack.enter_async_context(open_sandbox(settings))
        stage = Stage(sandbox, SystemClock(), asked.limit_s, alone)
        tell = _telling(course=asked.course)
        for case in found:
            result = Result(case.name, case.talk.title, unseen=case.unseen)
            report.results.append(result)
            if report.file is not None:
                result.runs += report.file.kept.get(case.name, ())[: asked.times]
            await run_case(case, model, stage, result, asked.times, partial(_note, report.file, tell))


def _note(file: ResultFile | None, tell: OnRun, name: str, run: Run) -> None:
    if file is not None:
        file.add(name, run)
    tell(name, run)


async def run_case(
    case: Case, model: LLMClient | None, stage: Stage, result: Result, times: int, on_run: OnRun
) -> None:
    """Run one program until it has `times` results, each checked; without a model with the replies of its talk."""
    if model is None and case.talk.replies is None:
        result.skipped = "not run: its talk has no replies"
        return
    program = await _compiled(case.program)
    while len(result.runs) < times:
        asked = Scripted(case.talk.replies or []) if model is None else model
        record = await run_once(program, case.talk, asked, stage)
        run = Run(record, problems(case.talk, record))
        result.runs.append(run)
        on_run(case.name, run)


def _telling(*, course: bool) -> OnRun:
    """Says on standard error how a run went; with `course` all that happened in it."""

    def tell(name: str, run: Run) -> None:
        for happening in run.record.course if course else ():
            text = happening.text.replace("\n", _NEXT_LINE)
            print(f"  {happening.kind:7}{text}", file=sys.stderr)
        print(
            f"{name}  {run.record.cost.seconds:.1f} s  {'; '.join(run.wrong) or 'right'}", file=sys.stderr, flush=True
        )

    return tell


async def _compiled(program: Path) -> Program:
    return (await compile_program([program], lowerer=RulesLowerer())).program
