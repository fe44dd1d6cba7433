"""Providers' keys are taken out of a process by starting it anew without them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.settings.hidden_keys import hidden_keys, hide_keys
from gateway.settings.tree import Settings, load, remote_variables
from runtime.core.errors import ConfigError

ROOT = Path(__file__).parents[4]
_SCRIPT = """
import json, os, sys
from pathlib import Path
from gateway.settings.hidden_keys import hide_keys
hide_keys()
from gateway.settings.hidden_keys import hidden_keys, read_key
found = {name: read_key(file) for name, file in hidden_keys().items()}
print(json.dumps([found, sorted(os.environ), Path("/proc/self/environ").read_text(), sys.argv[1:]]))
"""


def started(tmp_path: Path, environment: dict[str, str]) -> Any:
    """What a process has hidden, its variables, the kernel's view of them, and its arguments."""
    command = [sys.executable, "-c", _SCRIPT, "run", "a b"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment}
    return json.loads(subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True).stdout)


def test_keys_of_providers_are_hidden_and_all_else_stays(tmp_path: Path) -> None:
    theirs = {"OPENAI_API_KEY": "sk-öpen", "AWS_SECRET_ACCESS_KEY": "aws", "PARLEY_MODEL_API_KEY": "ours"}
    (tmp_path / ".env").write_text("GROQ_API_KEY='groq'\nOPENAI_API_KEY=less\nPARLEY_WEB__PORT=1\n")
    found, names, seen, arguments = started(tmp_path, {**theirs, "EMPTY_API_KEY": "", "PARLEY_WEB__PASSWORD": "p"})
    assert found == {**theirs, "GROQ_API_KEY": "groq"}
    assert not [key for key in (*theirs.values(), "groq") if key in seen]
    assert {"EMPTY_API_KEY", "PARLEY_WEB__PASSWORD", "PATH"} <= set(names)
    assert arguments == ["run", "a b"]


def test_without_keys_nothing_is_started_anew(tmp_path: Path) -> None:
    assert started(tmp_path, {})[0] == {}


def test_what_another_process_was_handed_is_not_taken_for_ones_own() -> None:
    assert hidden_keys({"_PARLEY_HIDDEN_KEYS": '{"process": 1, "files": {"OPENAI_API_KEY": 7}}'}) == {}


def test_a_key_that_is_given_twice_stays_where_it_is_and_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k")
    given = {"PARLEY_MODEL_API_KEY": "ours", "PARLEY_MODEL_API_KEY_FILE": str(tmp_path / "key")}
    assert started(tmp_path, given)[0] == {}
    with pytest.raises(ConfigError, match="both set"):
        load(environment=given, directory=tmp_path)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment that a process would start itself anew with."""
    monkeypatch.setenv("PARLEY_MODEL_API_KEY", "ours")
    monkeypatch.setenv("WEATHER_API_KEY", "sunny")
    monkeypatch.chdir("/")
    anew: dict[str, str] = {}
    monkeypatch.setattr("os.execve", lambda _program, _arguments, environment: anew.update(environment))
    hide_keys()
    return anew


def test_a_remote_agent_is_given_a_hidden_key_that_its_program_names(handed: dict[str, str], tmp_path: Path) -> None:
    assert remote_variables(Settings(), ["WEATHER_API_KEY"], handed, tmp_path) == {"WEATHER_API_KEY": "sunny"}
    assert remote_variables(Settings(), ["PARLEY_MODEL_API_KEY"], handed, tmp_path) == {}


def test_a_hidden_key_and_a_file_of_the_settings_are_one_too_many(handed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k")
    (tmp_path / "parley.toml").write_text(f'model_api_key_file = "{tmp_path / "key"}"\n')
    with pytest.raises(ConfigError, match="both set"):
        load(environment=handed, directory=tmp_path)
