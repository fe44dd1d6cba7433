"""Processes that hold talks at the same time. One that does not answer is ended, and another goes on in its place."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from anyio import to_thread

from gateway.models.opening import open_models
from gateway.settings.tree import Settings
from gateway.talks.checks import Difference
from gateway.talks.reports.results import TalkResult
from gateway.talks.running import Loaded, hold_talk
from gateway.talks.staging.answers import Live
from gateway.talks.staging.stage import open_stage
from gateway.talks.talk import Talk
from runtime.execution.frames.loop import FrameLoop
from runtime.llm.client import LLMClient

_GRACE_S = 2.0
"""The time beyond its limit that a talk may take before its process is ended."""

Job: TypeAlias = tuple[Loaded, Talk]


@dataclass(slots=True)
class Plan:
    """The talks of a run, and how they are held. `limit_s` is how long each may take; `live`: the numbers of those that
    the models of the settings answer."""

    settings: Settings
    jobs: Sequence[Job]
    limit_s: float
    live: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: int
    until_s: float


@dataclass(slots=True)
class _Run:
    plan: Plan
    start: Callable[[], tuple[BaseProcess, Connection]]
    waiting: list[int]
    working: list[_Worker] = field(default_factory=list)


def held_apart(plan: Plan, workers: int) -> Iterator[tuple[int, TalkResult]]:
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
        yield worker.job, TalkResult(loaded.file.path, talk, differences=[Difference(talk.line, "", why)])
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


def _work(plan: Plan, pipe: Connection) -> None:
    """A process that holds the talks it is given, one after the other."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner, suppress(KeyboardInterrupt, EOFError):
        runner.run(_hold_given(plan, pipe))


async def _hold_given(plan: Plan, pipe: Connection) -> None:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(open_stage(plan.settings))
        models: LLMClient | None = None
        while (number := await to_thread.run_sync(pipe.recv)) is not None:
            loaded, talk = plan.jobs[number]
            answers: Live | None = None
            if number in plan.live:
                models = models or (await stack.enter_async_context(open_models(plan.settings)))[0]
                answers = Live(models, alone=plan.settings.asks_alone)
            pipe.send(await hold_talk(loaded, talk, stage, answers, plan.limit_s))
