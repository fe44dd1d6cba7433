"""`parley setup keys new`: the key goes where the settings say, whether the file is there or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.operate.keys import app


@pytest.mark.parametrize("kept", ["", "# spare\n"])
def test_without_a_file_a_key_goes_to_that_of_the_settings(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parley.toml").write_text('[encryption]\nkeys_file = "own.keys"\n')
    keys = tmp_path / "own.keys"
    if kept:
        keys.write_text(kept)
    for count in (1, 2):
        made = CliRunner().invoke(app, ["new"])
        assert made.exit_code == 0, made.output
        lines = [line for line in keys.read_text().splitlines() if not line.startswith("#")]
        assert len(lines) == count
    assert keys.stat().st_mode & 0o777 == 0o600


def test_another_file_that_is_not_there_is_still_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parley.toml").write_text('[console]\npassword_file = "none"\n')
    made = CliRunner().invoke(app, ["new"])
    assert made.exit_code == 2
    assert "console.password_file" in made.output
