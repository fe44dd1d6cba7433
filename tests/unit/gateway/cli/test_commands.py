"""The command line, run as people run it: in a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from gateway.cli.commands import GROUPS, OLD_NAMES, app, narrowed, renamed
from gateway.version import VERSION
from tests.e2e.gateway_process import parley

pytestmark = pytest.mark.usefixtures("warm_starts")

ROOT = Path(__file__).parents[4]
HEAVY = ("rich", "litellm", "telegram", "redis", "pydantic_monty", "pydantic", "uvicorn", "httpx", "opentelemetry")
FOR_SOME = (
    "rich.console",
    "litellm",
    "telegram",
    "discord",
    "slack_sdk",
    "httpx",
    "httpx2",
    "a2a",
    "mcp",
    "pydantic_settings",
)
BROKEN = "# Agent\n\n## Main($x: int = )\n\n### Steps\n- Do it\n"


def _environment(directory: Path, variables: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PARLEY_DATA_DIR": str(directory / "data"),
        "PARLEY_PROGRAMS__SECOND_READER": "false",
        **variables,
    }


def _parley(directory: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"PARLEY_DATA_DIR": str(directory / "data"), "PARLEY_PROGRAMS__SECOND_READER": "false", **variables}
    code, said, errors = anyio.run(partial(parley, directory, *arguments, **own))
    return subprocess.CompletedProcess(arguments, code, said, errors)


def test_help_names_every_command_and_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from gateway.__main__ import main\n"
        "sys.argv = ['parley', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stdout
    for command in ("run", "compile", "check", "chat", "access", "sessions", "tasks", "debug"):
        assert f" {command} " in done.stdout


def test_a_start_imports_no_library_that_only_some_settings_need(tmp_path: Path) -> None:
    program = f"import sys, gateway.assembly.app\nprint([name for name in {FOR_SOME!r} if name in sys.modules])\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode() == "[]\n"


def test_each_command_is_in_one_group_of_the_help() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    commands = get_command(app)
    assert isinstance(commands, TyperGroup)
    assert sorted(listed) == sorted(name for name, one in commands.commands.items() if not one.hidden)
    assert (len(GROUPS), len(listed)) == (4, 18)


def _commands(group: Any, *above: str) -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        yield from _commands(one, *above, name) if hasattr(one, "commands") else [(" ".join([*above, name]), one)]


def test_every_command_that_reads_settings_takes_the_folder_for_the_state() -> None:
    options = {name: {param.name for param in one.params} for name, one in _commands(get_command(app))}
    assert {name for name, has in options.items() if "config" in has and "data_dir" not in has} == set()
    assert {name for name, has in options.items() if "data_dir" not in has} == {"fmt", "new"}


def test_the_folder_for_the_state_that_a_command_names_holds_for_this_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["check", "--data-dir", "elsewhere"])
    assert f"data_dir={tmp_path / 'elsewhere'}" in done.output
    assert f"data_dir={tmp_path / 'elsewhere'}" not in CliRunner().invoke(app, ["check"]).output


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("chek", "Did you mean 'check'?"),
        ("check --fx", "--fix"),
        ("debug lst", "Did you mean 'list'?"),
        ("compile piza.pb", "Did you mean pizza.pb?"),
        ("run piza.pb", "Did you mean pizza.pb?"),
        ("chat piza.pb", "Did you mean pizza.pb?"),
        ("dev piza.pb", "Did you mean pizza.pb?"),
        ("dev pizza.pb --model piza.test.md", "Did you mean pizza.test.md?"),
        ("test piza.pb", "Did you mean pizza.pb?"),
        ("fmt piza.pb", "Did you mean pizza.pb?"),
        ("new --yes --template suport", 'did you mean "support"?'),
        ("new --yes --platform telegramm", 'did you mean "telegram"?'),
        ("access block telegramm:42", 'did you mean "telegram"?'),
        ("sessions delete --person telegramm:42", 'did you mean "telegram"?'),
        ("run --config parly.toml", "Did you mean parley.toml?"),
        ("run --role frnt", "'front', 'agents'"),
        ("new --yes --template zzz", "there are: support, "),
        ("dev zzz", "create one with parley new zzz."),
        ("dev zzz.pb", "create one with parley new zzz."),
        ("chat there/zzz.pbasm", "create one with parley new there/zzz."),
        ("check nope.pb", "Name a .pb, .playbooks or .pbasm file"),  # endings alone are not alike
        ("sessions import talk.jsnl", "Name one that parley sessions export has written."),
        ("sessions import tlak.jsonl", "Did you mean talk.jsonl?"),
    ],
)
def test_an_error_names_what_is_probably_meant_or_says_what_to_do(
    command: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLEY_DATA_DIR", str(tmp_path / "data"))  # not that of whoever runs the tests
    (tmp_path / "pizza.pb").write_text(BROKEN)
    (tmp_path / "pizza.test.md").write_text("")
    (tmp_path / "parley.toml").write_text("")
    (tmp_path / "talk.jsonl").write_text("")
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 2, done.output
    assert meant in " ".join(done.output.split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_leads_to_the_command_that_there_is_now_and_says_so(
    old: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = renamed([*old.split(), "--help"])
    assert f"`parley {old}` is now `parley {OLD_NAMES[old]}`" in capsys.readouterr().err
    assert renamed(words) == words == [*OLD_NAMES[old].split(), "--help"]
    part = get_command(app)
    for word in [word for word in words if not word.startswith("-")][: 1 if "--role" in words else None]:
        part = part.commands[word]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("words", "meant"), [(["help"], ["--help"]), (["help", "check"], ["check", "--help"])])
def test_help_is_a_word_too(words: list[str], meant: list[str]) -> None:
    assert renamed(words) == meant


def test_a_command_by_its_old_name_does_what_it_did(tmp_path: Path) -> None:
    done = _parley(tmp_path, "init", "new")
    assert (done.returncode, (tmp_path / "new" / "hello.pb").exists()) == (0, True)
    assert "`parley init` is now `parley new --plain`" in done.stderr


@pytest.mark.parametrize("name", [*chain.from_iterable(GROUPS.values()), "--help", "runn", ""])
def test_a_command_is_made_without_the_others_and_any_other_word_makes_all(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("registered_commands", "registered_groups"):
        monkeypatch.setattr(app, kind, getattr(app, kind))
    listed = {"lsp", *chain.from_iterable(GROUPS.values())}
    made = get_command(narrowed(name))
    assert isinstance(made, TyperGroup)
    assert set(made.commands) == ({name} if name in listed else listed)


def test_the_lists_of_commands_show_each_line_whole(tmp_path: Path) -> None:
    groups = ("sessions", "access", "tasks", "schedule", "debug", "setup", "usage")
    for group in ((), *((name,) for name in groups)):
        listed = _parley(tmp_path, *group, "--help").stdout.partition("Commands:\n" if group else "Write:\n")[2]
        assert listed
        assert "..." not in listed, group


def test_a_program_is_checked_and_no_sessions_are_listed_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "greeter.pb").write_text(
        "# Greeter\n\n## Main\n\n### Triggers\n- At the beginning\n\n### Steps\n- Say hello\n"
    )
    checked = _parley(tmp_path, "check", "greeter.pb")
    assert checked.returncode == 0, checked.stdout
    listed = _parley(tmp_path, "sessions", "list")
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "There are no sessions.\n", "")
    (tmp_path / ".parley").mkdir()
    for command in (("sessions", "list"), ("debug", "list"), ("debug", "letters", "list"), ("access", "list")):
        asked = _parley(tmp_path, *command)
        assert asked.stderr.count("For that of parley dev and parley chat here, add --data-dir .parley\n") == 1, command
        assert "data-dir" not in _parley(tmp_path, *command, "--data-dir", ".parley").stderr
    assert not (tmp_path / "data").exists()


def test_version_is_printed(tmp_path: Path) -> None:
    assert _parley(tmp_path, "--version").stdout == f"parley {VERSION}\n"


def test_a_plain_folder_is_written_to_begin_with_and_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "hello.pb").write_text("mine")
    done = _parley(tmp_path, "new", "new", "--plain")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / "hello.pb").read_text() == "mine"
    assert "kept     new/hello.pb" in done.stdout
    assert (tmp_path / "new" / "parley.toml").read_text() == (ROOT / "config" / "parley.toml").read_text()
    assert "PARLEY_TELEGRAM__TOKEN" in (tmp_path / "new" / ".env.example").read_text()
    assert "parley run hello.pb" in done.stdout


def test_first_program_compiles(tmp_path: Path) -> None:
    assert _parley(tmp_path, "new", "--plain").returncode == 0
    done = _parley(tmp_path, "compile", "hello.pb")
    assert done.returncode == 0, done.stderr
    assert "# Greeter" in done.stdout
    assert ":YLD for exit" in done.stdout
    assert "Greeter: auto, compiled now" in done.stderr
    assert "Greeter: auto, from the cache" in _parley(tmp_path, "compile", "hello.pb").stderr


def test_compile_writes_into_the_output_folder(tmp_path: Path) -> None:
    _parley(tmp_path, "new", "--plain")
    done = _parley(tmp_path, "compile", "hello.pb", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "# Greeter" in (tmp_path / "out" / "hello.pbasm").read_text()


def test_compile_as_json_gives_the_agents(tmp_path: Path) -> None:
    _parley(tmp_path, "new", "--plain")
    done = _parley(tmp_path, "compile", "hello.pb", "--json")
    assert done.returncode == 0, done.stderr
    assert [agent["name"] for agent in json.loads(done.stdout)["agents"]] == ["Greeter"]


@pytest.mark.parametrize("command", ["compile", "run"])
def test_broken_program_is_shown_with_its_line_and_exit_code_2(tmp_path: Path, command: str) -> None:
    (tmp_path / "broken.pb").write_text(BROKEN)
    done = _parley(tmp_path, command, "broken.pb", PARLEY_WEB__PORT="0")
    assert done.returncode == 2
    assert "broken.pb:3:" in done.stderr
    assert "3 | ## Main($x: int = )" in done.stderr
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr


def test_broken_program_as_json_gives_the_place(tmp_path: Path) -> None:
    (tmp_path / "broken.pb").write_text(BROKEN)
    done = _parley(tmp_path, "compile", "broken.pb", "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["errors"][0]
    assert (error["severity"], error["line"], error["column"]) == ("error", 3, 17)
    assert error["message"]


@pytest.mark.parametrize("command", ["compile", "run"])
def test_missing_program_is_named_with_exit_code_2(tmp_path: Path, command: str) -> None:
    done = _parley(tmp_path, command, "nowhere.pb", PARLEY_WEB__PORT="0")
    assert done.returncode == 2
    assert "nowhere.pb" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_a_command_is_still_being_loaded_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import sys\nprint('loading', flush=True)\nsys.stdin.read()\n")
    environment = {**_environment(tmp_path, {}), "PYTHONPATH": str(tmp_path)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "gateway", "check"]
    folder = Path(__file__).parents[4]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "loading\n"
        one.send_signal(signal.SIGINT)
        _, errors = one.communicate(timeout=60)
    assert (one.returncode, errors) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_says_where_to_go_and_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "gateway", "run", "--port", "0"]
    environment = _environment(tmp_path, {})
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "Parley is running. Ctrl-C stops it.\n"
            assert re.fullmatch(r"  web chat   http://127\.0\.0\.1:[1-9]\d+\n", running.stdout.readline())
            running.send_signal(number)
            _, errors = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("role", "says", "how"),
    [("all", "web", "--port or PARLEY_WEB__PORT"), ("bus", "bus", "--port"), ("tape", "tape", "--port")],
)
def test_port_in_use_is_one_sentence_with_the_setting_that_counts(
    tmp_path: Path, role: str, says: str, how: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = _parley(tmp_path, "run", "--role", role, "--port", port)
    assert done.returncode in (1, 2)
    where = f"parley: {says}: cannot listen on 127.0.0.1 port {port}: Address already in use."
    assert done.stderr == f"{where} Choose another with {how}\n"


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_replacing_is_for_restoring_alone(tmp_path: Path, command: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "x.backup").write_text("old")
    done = _parley(tmp_path, command, "x.backup", "--replace", PARLEY_DATA_DIR="state")
    refused = "parley: --replace is for --restore alone. A backup is written over a file that is there without it.\n"
    assert (done.returncode, done.stderr == refused) == (2, command == "backup")
    assert ((tmp_path / "x.backup").read_text(), any((tmp_path / "state").iterdir())) == ("old", command == "restore")


@pytest.mark.parametrize("arguments", [("run",), ("check",), ("compile", "hello.pb")])
def test_wrong_setting_is_named_with_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = _parley(tmp_path, *arguments, PARLEY_WEB__PRT="1")
    assert done.returncode == 2
    assert done.stderr == (
        'parley: environment: there is no setting "PARLEY_WEB__PRT"; did you mean "PARLEY_WEB__PORT"?\n'
    )


def test_check_says_what_is_wrong_line_by_line_and_masks_secrets(tmp_path: Path) -> None:
    done = _parley(
        tmp_path,
        "check",
        PARLEY_MODEL="openai/none",
        PARLEY_MODEL_BASE_URL="http://127.0.0.1:9/v1",
        PARLEY_MODEL_API_KEY="very-secret",
        PARLEY_REDIS_URL="redis://:very-secret@127.0.0.1:9/0",
    )
    assert done.returncode == 1
    assert done.stdout.startswith("✗ Not ready: see model, valkey")
    marks = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    assert marks["settings"] == "✓"
    assert marks["model"] == "✗"
    assert marks["valkey"] == "✗"
    assert marks["telegram"] == "–"
    assert "very-secret" not in done.stdout + done.stderr


def test_check_of_a_program_says_what_is_wrong_offline_and_as_json_for_editors(tmp_path: Path) -> None:
    (tmp_path / "broken.pb").write_text(BROKEN)
    done = _parley(tmp_path, "check", "broken.pb")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("broken.pb:3:")
    done = _parley(tmp_path, "check", "broken.pb", "--json")
    found = json.loads(done.stdout)
    assert [(one["severity"], one["file"], one["line"]) for one in found] == [("error", "broken.pb", 3)]
    assert found[0]["source_line"] == "## Main($x: int = )"


def test_check_of_a_right_program_warns_of_steps_that_stay_free(tmp_path: Path) -> None:
    (tmp_path / "right.pb").write_text("# A\n\n## Main\n### Steps\n- Greet the user\n- Frobnicate\n")
    done = _parley(tmp_path, "check", "right.pb")
    assert done.returncode == 0
    assert "right.pb:6:3: warning: step Main:02 is left to a model: no rule" in done.stdout
    assert "6 | - Frobnicate\n    |   ^" in done.stdout


def test_compiled_files_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text("# A\n\n## Main\ncli_entry: true\n- Greet the user\n")
    assert _parley(tmp_path, "compile", "a.pb", "--output", "out").returncode == 0
    done = _parley(tmp_path, "compile", "out/a.pbasm")
    assert done.returncode == 0, done.stderr
    assert "[1/1] A: PBAsm as given" in done.stderr
    assert done.stdout == (tmp_path / "out" / "a.pbasm").read_text()


def test_a_lock_without_a_model_says_what_to_set_up_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text("# A\n\n## Main\n- Frobnicate\n")
    done = _parley(tmp_path, "compile", "a.pb", "--lock")
    assert done.returncode == 1
    assert "No language model is set up" in done.stderr
    assert not (tmp_path / "a.pb.lock").exists()


def test_check_of_a_program_refuses_calls_of_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text("# A\n\n## Main\n- FindOrdr(1)\n\n## FindOrder($id)\n- Return $id\n")
    done = _parley(tmp_path, "check", "a.pb")
    assert done.returncode == 2
    assert "a.pb:4:3: error: there is no playbook FindOrdr\n  4 | - FindOrdr(1)\n    |   ^^^^^^^^\n" in done.stdout
    assert "Did you mean FindOrder?" in done.stdout


def test_dev_says_that_its_folder_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "hello.pb").write_text(
        "# Greeter\nGreets.\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Wait\n"
    )
    (tmp_path / ".parley").touch()
    done = _parley(tmp_path, "dev", PARLEY_DATA_DIR="")
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"parley: {tmp_path}/.parley/.gitignore cannot be written (File exists); set PARLEY_DATA_DIR"
    )


@pytest.mark.parametrize(
    "command", ["check", "compile", "compile --explain", "compile --json", "compile --explain --json"]
)
@pytest.mark.parametrize("step", ["Mainn()", "Go to step 99", "$x:int = Kichen.Bake()"])
def test_a_wrong_program_ends_each_command_that_reads_it_with_two(tmp_path: Path, command: str, step: str) -> None:
    (tmp_path / "a.pb").write_text(
        f"# A\nAn agent.\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- {step}\n"
    )
    assert _parley(tmp_path, *command.split(), "a.pb").returncode == 2


@pytest.mark.parametrize(
    "command",
    [
        *("access list", "access approve 1234", "sessions list", "sessions show x", "usage", "usage feedback"),
        *("debug letters list", "debug list", "tasks list", "schedule list", "programs list", "backup out.zip"),
    ],
)
def test_a_command_that_looks_into_a_folder_that_does_not_exist_says_so_and_creates_none(
    tmp_path: Path, command: str
) -> None:
    done = _parley(tmp_path, *command.split(), "--data-dir", "nowhere")
    assert re.search("There is (no state in|nothing to back up)", done.stderr), done.stderr
    assert (done.returncode, (tmp_path / "nowhere").exists()) == (2, False)
