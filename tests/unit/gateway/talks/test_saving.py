"""Talks out of stored conversations, also of those that have called tools: what the tape has passes again."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from gateway.settings.tree import load
from gateway.talks.holding import Holding
from gateway.talks.results import TalkResult
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk
from gateway.talks.saving import Contents, add_talk, beside, contents_in, contents_of, save, shelf_for
from gateway.talks.staging.record import BeatRecord
from gateway.talks.staging.stage import TalkStage, open_stage
from gateway.talks.talk import TalkScript
from runtime.core.errors import ConfigError, ProgramError
from runtime.core.files import FILE_URL
from runtime.execution.frames.loop import FrameLoop
from runtime.tape.tape import Fact
from tests.unit.gateway.talks.rig import ECHO, GREETER, loaded
from tests.unit.gateway.talks.test_holding import GREETED, SLEEPER

EXAMPLES = Path(__file__).parents[4] / "examples"


async def lived(file: LoadedTalks, talk: TalkScript, stage: TalkStage) -> tuple[list[Fact], Contents]:
    """The facts of a conversation that went as a talk does, and the files that people sent."""
    async with Holding(file.program, talk, file.head, stage, file.answers(talk)).open() as holding:
        for beat in talk.beats:
            await holding.hold(beat, BeatRecord())
        facts = [fact async for fact in holding.facts()]
        contents = await contents_of(facts, holding.files)
        kept = [await holding.files.content(url.removeprefix(FILE_URL)) for url in contents]
        assert contents_in(facts, [file for file in kept if file is not None]) == contents  # as an export has them
        return facts, contents


def saved(file: LoadedTalks, number: int, target: Path, program: Path) -> tuple[str, TalkResult]:
    """A conversation as a talk, and what came of holding that."""

    async def all_of_it() -> TalkResult:
        async with open_stage(load(environment={})) as stage:
            facts, contents = await lived(file, file.talks[number], stage)
            shelf = await shelf_for(target, program, facts)
            title = shelf.free_title("Saved")
            with beside(target, contents) as files:
                add_talk(shelf, title, await save(title, shelf, facts, stage, files))
            again = await TalkLoader().load(target)
            return await hold_talk(again, again.talks[-1], stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        result = runner.run(all_of_it())
    return target.read_text(encoding="utf-8"), result


def test_a_conversation_becomes_a_talk_that_passes(tmp_path: Path) -> None:
    file = loaded(tmp_path, GREETER, GREETED)
    text, result = saved(file, 0, tmp_path / "new.test.md", tmp_path / "it.pb")
    assert text == (
        '---\nprogram: it.pb\npeople: ["Ada"]\nstart: 2026-01-05 09:00\n---\n# Talks with it\n\n## Saved\n\n'
        "- Ada: /start\n- Greeter: Hello! What is your name?\n- Ada: I am Ada.\n"
        "- Greeter: Nice to meet you, Ada!\n- expect: the end\n"
    )
    assert result.differences == []
    text, result = saved(file, 0, tmp_path / "new.test.md", tmp_path / "it.pb")
    assert text.count("## Saved") == 2
    assert (result.talk.title, result.differences) == ("Saved (2)", [])


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("order_helper", number) for number in range(3)),
        ("two_agents", 0),
        ("flight_booking", 0),
        ("trip_planning", 0),
        ("release_vote", 0),
        ("budget_review", 0),
        ("scout", 0),
    ],
)
def test_the_conversations_of_the_examples_become_talks_that_pass(tmp_path: Path, name: str, number: int) -> None:
    program = EXAMPLES / f"{name}.pb"

    async def load_it() -> LoadedTalks:
        return await TalkLoader().load(EXAMPLES / f"{name}.test.md")

    text, result = saved(asyncio.run(load_it()), number, tmp_path / "new.test.md", program)
    assert result.differences == [], text


DESK = """# Desk
Reads.

## Main
### Triggers
- At the beginning
### Steps
- Say "Send me a file."
- Wait for the user
- $text = ReadFile("notes.txt")
- Say "It says: {$text}"
- Ask the user for the $photo:image
- Say "Thanks."
"""
FILES = """## A
- Desk: Send me a file.
- Ada sends notes.txt: my notes
- Desk: It says: milk
- Desk writes: And a photo?
- Ben sends: photo.png, notes.txt
"""


def test_a_conversation_with_files_becomes_a_talk_with_these_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    Image.new("RGB", (8, 8), "red").save(tmp_path / "photo.png")
    (tmp_path / "new").mkdir()
    file = loaded(tmp_path, DESK, FILES)
    text, result = saved(file, 0, tmp_path / "new" / "new.test.md", tmp_path / "it.pb")
    assert result.differences == []
    assert "- Ada sends new.files/notes.txt: my notes\n- Desk: It says: milk\n" in text
    assert "- Ben sends new.files/photo.png, new.files/notes.txt\n- Desk: Thanks.\n" in text
    assert {path.name for path in (tmp_path / "new" / "new.files").iterdir()} == {"notes.txt", "photo.png"}
    (tmp_path / "other.pb").write_text(DESK.replace("Send me", "Give me"))
    with pytest.raises(ProgramError, match="cannot be replayed"):
        saved(file, 0, tmp_path / "new" / "other.test.md", tmp_path / "other.pb")
    assert not (tmp_path / "new" / "other.files").exists()


def test_other_files_of_the_same_name_are_kept_under_another(tmp_path: Path) -> None:
    contents = {"file:1": ("a, b.txt", b"1"), "file:2": ("a, b.txt", b"2"), "file:3": ("a, b.txt", b"1")}
    with beside(tmp_path / "x.test.md", contents) as files:
        assert [path.name for path in files.values()] == ["a_ b.txt", "a_ b-2.txt", "a_ b.txt"]
        assert [path.read_bytes() for path in files.values()] == [b"1", b"2", b"1"]


def test_a_long_message_is_saved_to_its_end(tmp_path: Path) -> None:
    words = "word " * 2_000 + "end"
    file = loaded(tmp_path, ECHO, f"## A\n- Ada: /start\n- Ada: {words}\n")
    text, result = saved(file, 0, tmp_path / "new.test.md", tmp_path / "it.pb")
    assert f"- Ada: {words}\n" in text
    assert result.differences == []


def test_long_pauses_are_waited_for_and_calls_are_told(tmp_path: Path) -> None:
    talk = "## A\n- Ada: Hello\n- wait 59 minutes\n- wait 2 minutes\n"
    text, result = saved(loaded(tmp_path, SLEEPER, talk), 0, tmp_path / "new.test.md", tmp_path / "it.pb")
    assert "- Sleeper: three\n- wait 3600 seconds\n- Sleeper: an hour\n" in text
    assert result.differences == []
    text, result = saved(
        loaded(tmp_path, ECHO, "## A\n- Ada: /start\n- Ada: a\n  b\n"), 0, tmp_path / "e.test.md", tmp_path / "it.pb"
    )
    assert text.endswith("- Ada: a\n  b\n- Echo: You said a\n  b\n- expect: call Echo.Repeat(text='a\\nb', times=1)\n")
    assert result.differences == []


def test_a_conversation_with_another_program_is_refused_with_the_place(tmp_path: Path) -> None:
    file = loaded(tmp_path, GREETER, GREETED)
    (tmp_path / "other.pb").write_text(GREETER.replace("- Greet", "- Ask the user for their $age:int\n- Greet"))
    with pytest.raises(ProgramError, match=r"to its end: it ended then, and now goes on\.\n.* may have changed"):
        saved(file, 0, tmp_path / "new.test.md", tmp_path / "other.pb")
    (tmp_path / "said.pb").write_text(GREETER.replace("- Ask the user", '- Say "Hi!"\n- Ask the user'))
    with pytest.raises(ProgramError, match=r"where it said “Hello! What is your name\?”: now “Hi!”\."):
        saved(file, 0, tmp_path / "new.test.md", tmp_path / "said.pb")
    (tmp_path / "more.pb").write_text(GREETER.replace("- Greet", "- If they seem happy\n  - Wish them luck\n- Greet"))
    with pytest.raises(ProgramError, match=r"cannot be replayed after “Ada: I am Ada\.”: the tape has no answer"):
        saved(file, 0, tmp_path / "new.test.md", tmp_path / "more.pb")
    assert not (tmp_path / "new.test.md").exists()


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


def saved_with_tools(folder: Path, *, asks: bool = True) -> None:
    """Have the conversation, where people are asked about each call if it `asks`; save it without the server."""
    if not asks:
        (folder / "weather.test.md").write_text(LIVED.replace("- Ada presses Allow\n", ""), encoding="utf-8")

    async def all_of_it() -> None:
        async with open_stage(load(environment={"PARLEY_TOOLS__ASK": "Weather.*"} if asks else {})) as stage:
            file = await TalkLoader().load(folder / "weather.test.md")
            facts, _ = await lived(file, file.talks[0], stage)
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
            return await hold_talk(file, file.talks[0], stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(hold())


def test_a_saved_talk_has_the_results_of_tools_and_needs_no_server(folder: Path) -> None:
    saved_with_tools(folder)
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
    saved_with_tools(folder, asks=False)
    program = folder / "weather.pb"
    program.write_text(program.read_text(encoding="utf-8").replace("city=city", 'city=f"{city}!"'), encoding="utf-8")
    result = held(folder)
    assert "Weather.forecast was not called with (city='oslo!')" in str(result.differences)


@pytest.mark.parametrize("wrong", [3, {"tools": [{"called": "x"}], "calls": []}, {"calls": []}])
def test_kept_tools_that_cannot_be_read_are_refused_by_name(folder: Path, wrong: object) -> None:
    saved_with_tools(folder)
    kept = folder / "saved.recorded.json"
    data = json.loads(kept.read_text(encoding="utf-8"))
    data["Saved"]["tools"] = wrong
    kept.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"saved\.recorded\.json: it cannot be used"):
        held(folder)
