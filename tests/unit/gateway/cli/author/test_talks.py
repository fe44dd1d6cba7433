"""`parley test`, in a process of its own."""

import subprocess
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from anyio import to_thread
from typer.testing import CliRunner

from gateway.cli.commands import app
from tests.e2e.gateway_process import environment_of, key_in
from tests.e2e.warm_starts import parley_command
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.unit.gateway.talks.rig import ECHO, GREETER

pytestmark = [pytest.mark.timeout(420), pytest.mark.usefixtures("warm_starts")]

PASSES = "## It says it again\n- Ada: /start\n- Ada: one\n- Echo: You said one\n"
FAILS = "## It says <three> & more\n- Ada: /start\n- Ada: two\n- Echo: You said three\n"
BLOCKS = ECHO.replace('await Var("last", text)', "import time\n    time.sleep(60)")


def run_in(folder: Path, program: str, talks: str, *options: str, model: str = "") -> subprocess.CompletedProcess[str]:
    """What came of `parley test` in a folder with a program and its talks, and a model at an address."""
    (folder / "it.pb").write_text(program, encoding="utf-8")
    (folder / "it.test.md").write_text(talks, encoding="utf-8")
    given = {"PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model, **key_in(folder)} if model else {}
    environment = environment_of(folder / "data", {"HOME": str(folder), "COLUMNS": "80", **given})
    line = parley_command(["test", *options], environment)
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)


def test_the_exit_code_says_whether_all_passed_and_the_lines_what_differs(tmp_path: Path) -> None:
    found = run_in(tmp_path, ECHO, PASSES + FAILS, "--junit", "out.xml")
    assert found.returncode == 1
    said = found.stdout.splitlines()
    assert said[:6] == [
        "✓ it.test.md:1  It says it again",
        "✗ it.test.md:5  It says <three> & more",
        "  after line 7, “Ada: two”",
        "  it.test.md:8",
        f"          {'expected':33} │ seen",
        f"  ≠    8  {'Echo: You said three':33} │ Echo: You said two",
    ]
    assert said[6].startswith("2 talks: 1 failed, 1 passed; ")
    suite = Xml.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == ["It says it again", "It says <three> & more"]
    assert [case.find("failure") is None for case in suite] == [True, False]


def test_a_program_that_blocks_is_ended_and_the_other_talks_go_on(tmp_path: Path) -> None:
    talks = FAILS + "## It only begins\n- Ada: /start\n"
    found = run_in(tmp_path, BLOCKS, talks, "--jobs", "1", "--limit", "3")
    assert found.returncode == 1
    assert "it blocked everything for 3 seconds" in found.stdout
    assert "✓ it.test.md:5  It only begins" in found.stdout


@pytest.mark.parametrize(
    ("talks", "options", "told"),
    [
        ("## A\n- Ech: Hello\n", [], "it.test.md:2:3: error: Ech is no agent"),
        (PASSES, ["none.test.md"], "none.test.md: there is no such file or folder."),
        (PASSES, ["alone.pb"], "alone.pb: it has no talks; write some in alone.test.md."),
        (PASSES, ["--only", "other"], "No talk has “other” in its title."),
        (PASSES, ["--junit", "none/out.xml"], "none/out.xml cannot be written: there is no folder none."),
        (PASSES, ["empty"], "There are no talks here."),
    ],
)
def test_what_cannot_be_run_ends_with_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talks: str, options: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "alone.pb").write_text(ECHO, encoding="utf-8")
    (tmp_path / "it.pb").write_text(ECHO, encoding="utf-8")
    (tmp_path / "it.test.md").write_text(talks, encoding="utf-8")
    found = CliRunner().invoke(app, ["test", *options])
    assert (found.exit_code, told in found.stderr) == (2, True), found.stderr


def test_steps_that_no_talk_reached_are_named_in_english(tmp_path: Path) -> None:
    steps = (
        "- Ask the user for their $name\n- If $name is empty\n  - Tell the user that one has a name\n- End program\n"
    )
    (tmp_path / "it.pb").write_text(f"# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n{steps}")
    (tmp_path / "it.test.md").write_text("## A\n- Desk writes: Who?\n- wait 1 hour\n")
    said = CliRunner().invoke(app, ["test", str(tmp_path)]).stdout
    assert f"{tmp_path}/it.pb:9  Desk.Main: A message to the user: Tell the user that one has a name" in said, said
    assert "Say(user" not in said
    assert "Main:02" not in said


async def test_answers_are_recorded_once_and_replayed_without_a_model(tmp_path: Path) -> None:
    replies = [Reply("What is your name?"), Reply("Ada"), Reply("Nice to meet you, Ada!")]
    talk = '## A\n- Ada: Hello\n- …\n- Ada: I am Ada.\n- Greeter: … Ada …\n- expect: $name is "Ada"\n'
    async with OpenAIServer(replies) as server:
        live = await to_thread.run_sync(
            partial(run_in, tmp_path, GREETER, talk, "--record", "--jobs", "1", model=server.base_url)
        )
        asked = len(server.requests)
    assert (live.returncode, asked) == (0, 3), live.stdout + live.stderr
    assert "it.recorded.json: the answers of 1 talk are recorded." in live.stdout
    again = await to_thread.run_sync(partial(run_in, tmp_path, GREETER, talk))
    assert again.returncode == 0, again.stdout + again.stderr
