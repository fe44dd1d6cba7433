"""What `parley dev` and `parley chat` leave behind where they cannot begin."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from gateway.cli.author.dev import chat, dev
from gateway.cli.output.terminal import quiet_logs
from gateway.settings.tree import load


@pytest.mark.parametrize("command", [dev, chat])
def test_a_folder_without_a_program_is_left_as_it_was(
    command: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARLEY_DATA_DIR", raising=False)
    with pytest.raises(typer.Exit) as refused:
        command(tmp_path)
    assert refused.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_logs_are_quiet_for_people_unless_the_settings_name_a_level(tmp_path: Path) -> None:
    assert quiet_logs(load(environment={}, directory=tmp_path)) == {"logs.level": "warning"}
    named = load(environment={"PARLEY_LOGS__LEVEL": "info"}, directory=tmp_path)
    assert quiet_logs(named) == {}
