"""The folder of `parley dev` and `parley chat`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from gateway.cli.author.dev import entered


@pytest.mark.parametrize(
    ("given", "files"), [("game", []), ("game/game.pb", ["game.pb"]), ("", []), ("x.pb", ["x.pb"])]
)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_folder_or_a_file_is_gone_into_however_it_is_named(
    given: str, files: list[str], absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game").mkdir()
    for name in ("game/game.pb", "x.pb"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / given
    assert entered(folder if absolute else Path(given)) == [Path(name) for name in files]
    assert Path.cwd() == (folder if folder.is_dir() else folder.parent)


def test_what_there_is_not_is_refused_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "game.pb").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit):
        entered(Path("gmae.pb"))
    assert "Did you mean game.pb?" in capsys.readouterr().err
