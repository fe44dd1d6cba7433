"""The talks of the examples, as `parley test examples` holds them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.settings.tree import load
from gateway.talks.running import Loader, hold_talk, talk_files
from gateway.talks.stage import open_stage
from runtime.execution.frames.loop import FrameLoop

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("file", talk_files([EXAMPLES]), ids=lambda file: file.name)
def test_the_talks_of_an_example_pass(file: Path) -> None:
    async def hold() -> list[str]:
        loaded = await Loader().load(file)
        async with open_stage(load(environment={}, directory=EXAMPLES)) as stage:
            results = [await hold_talk(loaded, talk, stage) for talk in loaded.file.talks]
        return [f"{file.name}:{one.line}: {one.expected}: {one.seen}" for each in results for one in each.differences]

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        assert runner.run(hold()) == []
