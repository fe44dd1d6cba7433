"""`parley dev`: a saved file is read at once, and the board beside the chat shows the step, values and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.e2e.gateway_process import SEEN_LIMIT_S, Gateway, Room, gateway, key_in, parley
from tests.fakes.models.openai_server import OpenAIServer, Reply

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = """# Shop
Answers.

## Main
### Triggers
- At the beginning
### Steps
- $total = 40 + 2
- Say "Welcome."
- Wait for the user
- Say "Thanks."
- Wait for the user
- Say "That makes {$total}."
"""


@asynccontextmanager
async def developing(
    folder: Path, *options: str, program: str = PROGRAM, extensions: str = "", **environment: str
) -> AsyncIterator[tuple[Gateway, Room]]:
    """`parley dev` with a room in which somebody is."""
    environment |= {"PARLEY_EXTENSIONS__MODULES": extensions} if extensions else {}
    (folder / "data").mkdir()
    (folder / "shop.pb").write_text(program)
    async with (
        gateway(folder / "data", folder, environment, command="dev", options=["--port", "0", *options]) as running,
        running.page() as page,
    ):
        room = Room(page)
        await room.join()
        yield running, room


async def seen(running: Gateway, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the board shows when this holds."""
    async with httpx.AsyncClient(base_url=running.url, timeout=SEEN_LIMIT_S) as client:
        with anyio.fail_after(SEEN_LIMIT_S):
            async with client.stream("GET", "/dev/news", params={"room": "lobby"}) as answer:
                async for line in answer.aiter_lines():
                    view: dict[str, Any] = json.loads(line[6:]) if line.startswith("data: ") else {}
                    if view and holds(view):
                        return view
    raise AssertionError("the board has ended")


def step(view: dict[str, Any]) -> str:
    """The text of the innermost step of the first agent; "" where nothing runs."""
    agents = [agent for session in view["sessions"] if not session["ended"] for agent in session["agents"]]
    return agents[0]["stack"][0]["text"] if agents and agents[0]["stack"] else ""


async def test_the_board_shows_the_step_at_which_a_program_waits_its_line_and_its_values(tmp_path: Path) -> None:
    async with developing(tmp_path) as (running, room):
        await room.say("hi")
        await room.until("Welcome.")
        view = await seen(running, lambda now: "user" in step(now))
        (agent,) = view["sessions"][0]["agents"]
        assert agent["waits"]
        assert step(view) == "Wait for the user."
        assert agent["variables"]["total"] == "42"
        assert not any(name.startswith("_") for name in agent["variables"])
        entry = agent["stack"][0]
        async with httpx.AsyncClient(base_url=running.url) as client:
            source = (await client.get("/dev/source", params={"file": entry["file"]})).text
            assert source.splitlines()[entry["line"] - 1] == "- Wait for the user"
            assert (await client.get("/dev/source", params={"file": "/etc/hostname"})).status_code == 404
            assert "/dev/assets/dev.js" in (await client.get("/")).text


async def test_the_program_is_beside_the_chat_before_anything_runs(tmp_path: Path) -> None:
    async with developing(tmp_path) as (running, _), httpx.AsyncClient(base_url=running.url) as client:
        view = await seen(running, lambda now: now["file"] is not None)
        assert view["sessions"] == []
        assert (await client.get("/dev/source", params={"file": view["file"]})).text == PROGRAM


async def test_a_line_that_a_second_reader_understands_otherwise_is_a_warning_until_the_file_changes(
    tmp_path: Path,
) -> None:
    async with OpenAIServer([Reply("L2: 42 of them"), Reply("none")]) as model:
        environment = {
            "PARLEY_MODEL": "small",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            "PARLEY_PROGRAMS__SECOND_READER": "true",
            **key_in(tmp_path),
        }
        async with developing(tmp_path, **environment) as (running, _):
            view = await seen(running, lambda now: bool(now["problems"]))
            assert [(one["severity"], one["line"]) for one in view["problems"]] == [("warning", 8)]
            await running.prints(r"42 of them")
            (tmp_path / "shop.pb").write_text(PROGRAM.replace("40 + 2", "42"))
            await seen(running, lambda now: not now["problems"])
            await running.prints(r"small has read 7 lines a second time\.", times=2)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("### Stepz", "14:5: error: there is no section 'Stepz'"),
        ("- $total:int = Cuont(1)", "14:16: error: there is no playbook Cuont"),
    ],
)
async def test_the_program_before_an_error_goes_on_and_terminal_and_board_say_so_until_it_is_corrected(
    line: str, error: str, tmp_path: Path
) -> None:
    async with developing(tmp_path, extensions="tests.e2e.terminal.pager") as (running, room):
        await room.say("hi")
        await room.until("Welcome.")
        (tmp_path / "shop.pb").write_text(PROGRAM.replace("Thanks", "Lost") + f"{line}\n")
        view = await seen(running, lambda now: bool(now["problems"]))
        assert f"shop.pb:{error}" in view["problems"][0]["text"]
        await running.prints(r"shop: not read\. The chat continues with the earlier program\.")
        assert running.output.count(error) == 1
        assert "shop: read" not in running.output
        await room.say("well")
        await room.until("Welcome.", "Thanks.")
        before = await seen(running, lambda _: True)
        (tmp_path / "shop.pb").write_text(PROGRAM.replace('Say "That', 'Say(Pager, "One came.")\n- Say "This'))
        corrected = await seen(running, lambda now: not now["problems"])
        assert corrected["reads"] > before["reads"]  # pages fetch the text anew
        await running.prints(r"shop: read, no warnings\.")
        await room.say("well")
        await room.until("Welcome.", "Thanks.", "This makes 42.")


@pytest.mark.parametrize(
    ("line", "more", "error"),
    [
        (
            "- $total:int = Count()",
            "async def Count():\n    return PRICE\n",
            "18:5: error: name 'PRICE' is not defined",
        ),
        ("- $total = 1 / 0", "async def Count():\n    return 1\n", "8:1: error: division by zero"),
    ],
    ids=["in Python", "in a step"],
)
async def test_a_failure_is_told_with_its_line_which_is_marked_until_the_program_is_read_anew(
    line: str, more: str, error: str, tmp_path: Path
) -> None:
    failing = PROGRAM.replace("- $total = 40 + 2", line) + f"\n```python\n@playbook\n{more}```\n"
    async with developing(tmp_path, program=failing) as (running, room):
        await room.say("hi")
        view = await seen(running, lambda now: any(one["severity"] == "failure" for one in now["problems"]))
        (problem,) = [one for one in view["problems"] if one["severity"] == "failure"]
        assert problem["text"].startswith(f"shop.pb:{error}\n  {problem['line']} | ")
        await running.prints(f"shop.pb:{error}")
        (tmp_path / "shop.pb").write_text(PROGRAM)
        await seen(running, lambda now: not now["problems"])
        assert "playbook.failed" not in running.output
        assert "failure.reported" not in running.output


async def test_a_room_begins_anew_when_a_file_is_saved_if_the_switch_is_on(tmp_path: Path) -> None:
    async with developing(tmp_path, "--anew") as (_, room):
        await room.say("hi")
        await room.until("Welcome.")
        (tmp_path / "shop.pb").write_text(PROGRAM.replace("Welcome", "Good morning"))
        await room.until("Welcome.", "Good morning.")


ASKING = """# Shop
Sells tea.

## Main
### Triggers
- At the beginning
### Steps
- Welcome the user
- Ask the user which $tea:str they want
- Tell the user that $tea comes at once
- Ask the user how $many:int cups they want
- Thank the user
"""
ANSWERS = """## Green tea
- Shop writes: Welcome to the shop!
- Shop writes: Which tea?
- Ada: the green one
- model: green
- Shop writes: Green tea it is.

## Black tea
- Shop writes: Good day!
- Shop writes: Which one?
- Ada: black please
- model: black
"""


async def test_a_program_is_tried_without_a_model_by_the_answers_of_its_talks(tmp_path: Path) -> None:
    (tmp_path / "shop.test.md").write_text(ANSWERS)
    async with developing(tmp_path, "--model", "scripted", program=ASKING) as (running, room):
        await room.say("hello")
        await room.until("Welcome to the shop!", "Which tea?")
        await room.say("black please")
        await running.prints(r"scripted  shop\.test\.md:12 answers Shop")
        first = ["Welcome to the shop!", "Which tea?"]
        then = ["[Tell the user that black comes at once.]", "[Ask the user how many cups they want.]"]
        await room.until(*first, *then)
        await room.say("thirty")
        await room.until_some("[Ask the person again, in other words, for many.")
        await room.say("30")
        await room.until_some("[Thank the user.]")


async def test_a_talk_in_the_terminal_shows_what_failed_without_the_records_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "shop.pb").write_text(
        "# Shop\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Greet the user\n"
    )
    code, said, errors = await parley(tmp_path, "chat", "shop.pb")
    assert (code, said.count("I cannot continue: no language model is set up.")) == (0, 1), said
    assert "PARLEY_MODEL" not in said
    starting, advice, goodbye = filter(None, errors.splitlines())
    assert starting == "Starting …"
    assert advice.startswith("No language model is set up: set PARLEY_MODEL")
    assert advice.endswith("Or let its talks answer: parley chat shop.pb --model scripted")
    assert goodbye == "Goodbye. The talk goes on with: parley chat shop.pb"


async def test_a_talk_in_the_terminal_is_refused_where_a_step_of_the_program_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "shop.pb").write_text("# Shop\n## Main\n### Triggers\n- At the beginning\n### Steps\n- $x = Prise()\n")
    code, said, errors = await parley(tmp_path, "chat", "shop.pb")
    assert (code, said) == (2, "")
    assert "shop.pb:6:" in errors
    assert "there is no playbook Prise" in errors


async def test_a_folder_without_a_program_is_refused_with_what_to_do(tmp_path: Path) -> None:
    code, _, errors = await parley(tmp_path, "dev", str(tmp_path))
    assert code == 2
    assert "there is no program (.pb) in this folder" in errors
