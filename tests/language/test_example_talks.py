"""The talks of the examples, as `parley test examples` holds them, and those of programs that are no examples."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

from gateway.settings.tree import load
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk, talk_files
from gateway.talks.staging.stage import TalkStage, open_stage
from gateway.talks.talk import TalkScript
from runtime.execution.frames.loop import FrameLoop

EXAMPLES = Path(__file__).parents[2] / "examples"
TALKS = Path(__file__).with_name("talks")


def test_every_example_has_talks() -> None:
    assert [one.name for one in EXAMPLES.glob("*.pb") if not one.with_suffix(".test.md").exists()] == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("file", talk_files([EXAMPLES, TALKS]), ids=lambda file: file.name)
def test_the_talks_of_a_program_pass(file: Path) -> None:
    found: list[str] = []

    async def hold(loaded: LoadedTalks, talk: TalkScript, stage: TalkStage) -> None:
        result = await hold_talk(loaded, talk, stage, limit_s=110)
        found.extend(f"{one.line}: {one.expected}: {one.seen}" for one in result.differences if not one.fits)

    async def hold_all() -> None:
        loaded = await TalkLoader().load(file)
        patient = {"remote.connect_s": 100}  # a server of tools begins with an interpreter of its own
        settings = load(environment={}, directory=EXAMPLES, flags=patient)
        async with open_stage(settings) as stage, anyio.create_task_group() as tasks:
            for talk in loaded.file.talks:
                tasks.start_soon(hold, loaded, talk, stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(hold_all())
    assert found == []
