"""`parley new`: a folder whose program works, whatever was chosen."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gateway.cli.author.new import say_next
from gateway.dev.folder import TEMPLATES, ProgramTemplate, WantedFolder, files_of
from gateway.programs.loading import routes_of
from gateway.settings.tree import load
from tests.e2e.gateway_process import environment_of
from tests.e2e.warm_starts import parley_command

pytestmark = pytest.mark.usefixtures("warm_starts")


def _new(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(folder, {})
    return subprocess.run(
        parley_command(["new", *arguments], environment),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _written(folder: Path, wanted: WantedFolder) -> None:
    for name, text in files_of(wanted, folder).items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_its_settings_serve_the_program_of_the_template(template: ProgramTemplate, tmp_path: Path) -> None:
    _written(tmp_path, WantedFolder(template, model='odd "name"'))
    settings = load(directory=tmp_path, environment={})
    assert settings.model == 'odd "name"'
    assert settings.data_dir.name == ".parley"
    assert routes_of(settings).files == {template.name: (tmp_path / f"{template.name}.pb",)}
    assert (tmp_path / f"{template.name}.test.md").read_text().startswith("# Talks")


def test_what_a_server_needs_serves_this_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my shop"
    folder.mkdir()
    _written(
        folder, WantedFolder(TEMPLATES[0], "slack", {"PARLEY_SLACK__BOT_TOKEN": "x", "PARLEY_SLACK__APP_TOKEN": ""})
    )
    gateway = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["gateway"]
    assert (gateway["working_dir"], gateway["command"]) == ("/program", ["run"])
    assert "./:/program:ro" in gateway["volumes"]
    assert gateway["environment"]["PARLEY_DOTENV"] == "/dev/null", "the container's user may not read .env"
    unit = (folder / "my-shop.service").read_text()
    assert f"WorkingDirectory={folder}\n" in unit
    assert "parley run\n" in unit
    assert "ExecReload=/bin/kill -HUP $MAINPID" in unit
    assert (folder / ".env").read_text() == "PARLEY_SLACK__BOT_TOKEN=x\n"
    assert (folder / ".gitignore").read_text().split() == [".parley/", ".env"]
    assert load(directory=folder, environment={}).slack.access == "pairing"


def test_without_a_terminal_it_asks_nothing_and_shows_a_talk_with_the_program(tmp_path: Path) -> None:
    done = _new(tmp_path, "desk", "--template", "triage", "--platform", "telegram")
    assert done.returncode == 0, done.stderr
    assert "Ada: my login fails\n  Triage: Reset your password at /account" in done.stdout
    assert "put PARLEY_TELEGRAM__TOKEN in it (docs/chats/telegram.md)" in done.stdout
    assert not (tmp_path / "desk" / ".env").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "game.pb").write_text("mine")
    done = _new(tmp_path, "--template", "game")
    assert done.returncode == 0
    assert "kept     game/game.pb (exists)" in done.stdout
    assert (tmp_path / "game" / "game.pb").read_text() == "mine"


@pytest.mark.parametrize("option", [["--template", "game"], ["--plain"]])
def test_a_second_time_it_says_that_all_was_there_already(option: list[str], tmp_path: Path) -> None:
    said = "All of it was there already: nothing in mine was changed."
    assert said not in _new(tmp_path, "mine", *option).stdout
    done = _new(tmp_path, "mine", *option)
    assert (done.returncode, said in done.stdout) == (0, True)


def test_a_folder_with_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    assert _new(tmp_path, "desk", "--template", "game").returncode == 0
    done = _new(tmp_path, "desk", "--template", "triage")
    assert done.returncode == 2
    assert "desk has a program already, game.pb. Choose another folder" in done.stderr
    assert not (tmp_path / "desk" / "triage.pb").exists()


@pytest.mark.parametrize(("option", "kind"), [("--template", "template"), ("--platform", "platform")])
def test_an_unknown_choice_is_refused_with_those_that_there_are(option: str, kind: str, tmp_path: Path) -> None:
    done = _new(tmp_path, option, "nonsense")
    assert done.returncode == 2
    assert f"there is no {kind} nonsense; there are: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    from gateway.cli.author.new import _written as write

    write(tmp_path, {".env": "A=b\n"})
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_what_comes_next_begins_with_the_way_to_a_command_that_the_terminal_does_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parley").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/usr/bin")
    say_next(Path("desk"))
    assert capsys.readouterr().out == f'\nNext:\n  export PATH="{tmp_path}:$PATH"\n  cd desk\n'
    monkeypatch.setenv("PATH", str(tmp_path))
    say_next(Path())
    assert capsys.readouterr().out == "\nNext:\n"
