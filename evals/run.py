"""The runner: every program with its talk, on scripted replies or a real model, one after the other."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from evals.checks import problems
from evals.conversation import Stage, run_once
from evals.models import Scripted
from evals.record import Record
from evals.table import Result, as_json, show
from evals.talks import Case, TalkRejected, cases
from gateway.parts import open_model, open_sandbox
from gateway.settings import Settings, load
from runtime.core.clock import SystemClock
from runtime.core.errors import ParleyError
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.program import Program
from runtime.language.rules import RulesLowerer
from runtime.llm.client import CanWarmUp, LLMClient

PROGRAMS = Path(__file__).parent / "programs"
OnRun = Callable[[str, Record, list[str]], None]
"""Hears of each run: the program's name, what happened, and what was wrong."""

_NEXT_LINE = "\n" + " " * 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evals and print the table. The exit code is 1 where a scripted run was wrong, 2 where nothing could run.

    On a real model it is 0: what is right there is a figure, and no condition.
    """
    asked = _parser().parse_args(arguments)
    try:
        found = cases(asked.programs, asked.only)
        if not found:
            raise TalkRejected(f"no program's name contains any of: {asked.only}")
        settings = _settings(asked)
        with asyncio.Runner(loop_factory=FrameLoop) as runner:
            name, results = runner.run(_run_all(found, settings, asked))
    except (TalkRejected, ParleyError) as error:
        print(f"evals: {error}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(name, results), indent=2, default=repr) if asked.json else show(name, results))
    scripted_wrong = any(result.right < len(result.records) for result in results)
    return 1 if scripted_wrong and not _real(asked) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument(
        "--model", help="litellm's name of a model, such as openai/gpt-…, or a GGUF file; none: scripted replies"
    )
    parser.add_argument("--url", help="where an OpenAI server of that model listens, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--alone", action="store_true", help="ask one question at a time, as for small models")
    parser.add_argument("--times", type=int, default=1, help="how often each program is run")
    parser.add_argument("--only", default="", help="parts of programs' names, with commas")
    parser.add_argument("--limit-s", type=float, default=900.0, help="seconds that a run may take")
    parser.add_argument("--course", action="store_true", help="tell on standard error what happens in each run")
    parser.add_argument("--json", action="store_true", help="print everything that happened, as JSON")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="the folder of the programs and talks")
    return parser


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


async def _run_all(found: Sequence[Case], settings: Settings, asked: argparse.Namespace) -> tuple[str, list[Result]]:
    name, results = Scripted.model, list[Result]()
    async with AsyncExitStack() as stack:
        model: LLMClient | None = None
        if _real(asked):
            model = await stack.enter_async_context(open_model(settings))
            name = model.model
            if isinstance(model, CanWarmUp):
                await model.warm_up()
        stage = Stage(
            await stack.enter_async_context(open_sandbox(settings)), SystemClock(), asked.limit_s, asked.alone
        )
        tell = _telling(course=asked.course)
        results += [await run_case(case, model, stage, tell, asked.times) for case in found]
    return name, results


async def run_case(case: Case, model: LLMClient | None, stage: Stage, tell: OnRun, times: int = 1) -> Result:
    """Run one program `times` times and check it; without a model with the replies of its talk."""
    result = Result(case.name, case.talk.title)
    if model is None and case.talk.replies is None:
        result.skipped = "not run: its talk has no replies"
        return result
    program = await _compiled(case.program)
    for _ in range(times):
        asked = Scripted(case.talk.replies or []) if model is None else model
        record = await run_once(program, case.talk, asked, stage)
        result.records.append(record)
        result.wrong.append(problems(case.talk, record))
        tell(case.name, record, result.wrong[-1])
    return result


def _telling(*, course: bool) -> OnRun:
    """Says on standard error how a run went; with `course` all that happened in it."""

    def tell(name: str, record: Record, wrong: list[str]) -> None:
        for happening in record.course if course else ():
            text = happening.text.replace("\n", _NEXT_LINE)
            print(f"  {happening.kind:7}{text}", file=sys.stderr)
        print(f"{name}  {record.cost.seconds:.1f} s  {'; '.join(wrong) or 'right'}", file=sys.stderr, flush=True)

    return tell


async def _compiled(program: Path) -> Program:
    return (await compile_program([program], lowerer=RulesLowerer())).program
