"""The processor time of a talk: `python -m benchmarks.programs.talks`.

The floor is the same conversation without a talk around it: a session in memory, a script, nothing compared.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.table import Row, show
from evals.conversation import Stage as Bare
from evals.conversation import run_once
from evals.models import Scripted
from evals.talks import Expected, Line, Reply
from evals.talks import Talk as BareTalk
from gateway.settings.tree import load
from gateway.talks.parsing.document import read_head, read_source, read_talks
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk
from gateway.talks.staging.stage import open_stage
from gateway.talks.talk import PersonLine, TalkScript
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMES = 25


def run() -> list[Row]:
    """The rows of the table."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(_rows())


async def _rows() -> list[Row]:
    rows: list[Row] = []
    async with open_stage(load(environment={})) as stage, MontySandbox(max_workers=1) as sandbox:
        for name in ("hello", "order_helper", "budget_review"):
            loaded = await TalkLoader().load(EXAMPLES / f"{name}.test.md")
            talk = loaded.talks[0]

            async def hold(loaded: LoadedTalks = loaded, talk: TalkScript = talk) -> None:
                assert (await hold_talk(loaded, talk, stage)).passed

            value = await _best_ms(hold)
            floor = await _best_ms(_bare(loaded, talk, Bare(sandbox, SystemClock()))) if name == "hello" else None
            beside = "the session alone" if floor is not None else ""
            rows.append(Row(f"a talk with {name}, CPU", value, "ms", floor, beside, "< 100 ms"))
    rows.append(Row("the talks of order_helper, read", await _best_ms(_read), "ms"))
    return rows


def _bare(loaded: LoadedTalks, talk: TalkScript, stage: Bare) -> Callable[[], Awaitable[None]]:
    """The conversation of a talk by itself."""
    said = [Line(text=beat.act.text) for beat in talk.beats if isinstance(beat.act, PersonLine)]
    replies = [Reply(text=reply.text) for beat in talk.beats for reply in beat.replies]
    bare = BareTalk(title="", lines=list(said), expect=Expected())

    async def hold() -> None:
        record = await run_once(loaded.program, bare, Scripted(replies), stage)
        assert record.how == "ended"

    return hold


async def _read() -> None:
    source = read_source(EXAMPLES / "order_helper.test.md")
    head = read_head(source)
    read_talks(source, head, await TalkLoader().program(head))


async def _best_ms(work: Callable[[], Awaitable[None]]) -> float:
    """The least time of the processor in a few tries."""
    best = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        await work()
        best = min(best, time.process_time() - began)
    return best * 1000


if __name__ == "__main__":
    print(show(run()))
