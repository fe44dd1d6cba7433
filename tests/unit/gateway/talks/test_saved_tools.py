"""Talks out of conversations that have called tools of servers: the results of then, and no server."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from gateway.settings.tree import load
from gateway.talks.results import TalkResult
from gateway.talks.running import TalkLoader, hold_talk
from gateway.talks.saving import add_talk, save, shelf_for
from gateway.talks.staging.stage import open_stage
from runtime.core.errors import ConfigError
from runtime.execution.frames.loop import FrameLoop
from tests.unit.gateway.talks.test_saving import lived

EXAMPLES = Path(__file__).parents[4] / "examples"
LIVED = """
## Lived
- Ada: Hello
- Desk: …
- Ada: oslo
- Ada presses Allow
- Desk: Oslo in the next days: snow, snow, clear.
- Ada: Paris
- Ada presses Allow
- Desk: The server knows nothing about Paris. …
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program with a server of tools, and a talk with it."""
    for name in ("weather.pb", "weather_server.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    (tmp_path / "weather.test.md").write_text(LIVED, encoding="utf-8")
    return tmp_path


def saved(folder: Path, *, asks: bool = True) -> None:
    """Have the conversation, where people are asked about each call if it `asks`; save it without the server."""
    if not asks:
        (folder / "weather.test.md").write_text(LIVED.replace("- Ada presses Allow\n", ""), encoding="utf-8")

    async def all_of_it() -> None:
        async with open_stage(load(environment={"PARLEY_TOOLS__ASK": "Weather.*"} if asks else {})) as stage:
            file = await TalkLoader().load(folder / "weather.test.md")
            facts, _ = await lived(file, file.file.talks[0], stage)
        (folder / "weather_server.py").unlink()
        async with open_stage(load(environment={})) as stage:
            shelf = await shelf_for(folder / "saved.test.md", folder / "weather.pb", facts)
            add_talk(shelf, "Saved", await save("Saved", shelf, facts, stage))

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(all_of_it())


def held(folder: Path) -> TalkResult:
    """What comes of holding the saved talk."""

    async def hold() -> TalkResult:
        async with open_stage(load(environment={})) as stage:
            file = await TalkLoader().load(folder / "saved.test.md")
            return await hold_talk(file, file.file.talks[0], stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(hold())


def test_a_saved_talk_has_the_results_of_tools_and_needs_no_server(folder: Path) -> None:
    saved(folder)
    result = held(folder)
    assert result.passed, result.differences
    assert "snow, snow, clear" in (folder / "saved.test.md").read_text(encoding="utf-8")
    kept = json.loads((folder / "saved.recorded.json").read_text(encoding="utf-8"))["Saved"]["tools"]
    assert [(call["tool"], call["arguments"]["city"]) for call in kept["calls"]] == [
        ("Weather.forecast", "oslo"),
        ("Weather.forecast", "Paris"),
    ]
    assert kept["calls"][0]["error"] is None
    assert kept["calls"][1]["error"][0] == "ToolFailed"


def test_a_call_that_was_not_made_then_is_a_fault_of_the_talk(folder: Path) -> None:
    saved(folder, asks=False)
    program = folder / "weather.pb"
    program.write_text(program.read_text(encoding="utf-8").replace("city=city", 'city=f"{city}!"'), encoding="utf-8")
    result = held(folder)
    assert "Weather.forecast was not called with (city='oslo!')" in str(result.differences)


@pytest.mark.parametrize("wrong", [3, {"tools": [{"called": "x"}], "calls": []}, {"calls": []}])
def test_kept_tools_that_cannot_be_read_are_refused_by_name(folder: Path, wrong: object) -> None:
    saved(folder)
    kept = folder / "saved.recorded.json"
    data = json.loads(kept.read_text(encoding="utf-8"))
    data["Saved"]["tools"] = wrong
    kept.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"saved\.recorded\.json: it cannot be used"):
        held(folder)
