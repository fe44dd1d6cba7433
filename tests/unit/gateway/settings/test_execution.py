"""What servers of remote agents are given: named things only, and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.settings.tree import Settings, load, process_environment, remote_variables
from runtime.core.errors import ConfigError


def _load(directory: Path, toml: str = "") -> Settings:
    (directory / "parley.toml").write_text(toml)
    return load(environment={}, directory=directory)


def test_a_name_is_looked_up_in_its_file_then_in_the_environment_then_in_dotenv(tmp_path: Path) -> None:
    (tmp_path / "weather").write_text("from-file\n")
    (tmp_path / ".env").write_text("STARS=from-dotenv\nTIDES=from-dotenv\n")
    settings = _load(tmp_path, f'[remote.secrets]\nWEATHER = "{tmp_path / "weather"}"\n')
    environment = {"WEATHER": "from-environment", "STARS": "from-environment"}
    found = remote_variables(settings, ["WEATHER", "STARS", "TIDES", "MISSING"], environment, tmp_path)
    assert found == {"WEATHER": "from-file", "STARS": "from-environment", "TIDES": "from-dotenv"}


@pytest.mark.parametrize("name", ["PARLEY_TELEGRAM__TOKEN", "parley_web__password"])
def test_what_is_the_gateways_own_is_given_to_nobody(name: str, tmp_path: Path) -> None:
    assert remote_variables(_load(tmp_path), [name], {name: "secret"}, tmp_path) == {}


def test_a_file_that_cannot_be_read_is_named_and_what_to_do(tmp_path: Path) -> None:
    settings = _load(tmp_path, '[remote.secrets]\nWEATHER = "/nowhere/weather"\n')
    with pytest.raises(ConfigError, match=r"remote\.secrets\.WEATHER: /nowhere/weather cannot be read .*; check"):
        remote_variables(settings, ["WEATHER"], {}, tmp_path)


def test_a_secret_in_the_place_of_its_file_is_refused_and_not_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains a secret; it must name a file") as raised:
        _load(tmp_path, '[remote.secrets]\nWEATHER = "sk-12345678abcdef"\n')
    assert "sk-12345678abcdef" not in str(raised.value)


def test_a_process_sees_where_things_are_and_nothing_secret() -> None:
    environment = {"PATH": "/bin", "HOME": "/home/ada", "AWS_SECRET_ACCESS_KEY": "x", "PARLEY_MODEL_API_KEY": "y"}
    assert process_environment(environment) == {"PATH": "/bin", "HOME": "/home/ada"}


def test_commands_are_any_unless_the_settings_name_them(tmp_path: Path) -> None:
    assert _load(tmp_path).remote.commands == ("*",)
    assert _load(tmp_path, '[remote]\ncommands = ["uvx", "python"]\n').remote.commands == ("uvx", "python")
    assert _load(tmp_path, "[remote]\ncommands = []\n").remote.commands == ()


def test_rules_of_tools_come_from_the_file_and_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text('[tools]\nwithin_s = 5\nask = ["Shop.order"]\n')
    rules = load(environment={"PARLEY_TOOLS__DENY": "Shop.*, Bank.*"}, directory=tmp_path).tools.as_rules
    assert (rules.allow, rules.ask, rules.deny, rules.within_s) == ((), ("Shop.order",), ("Shop.*", "Bank.*"), 5)
