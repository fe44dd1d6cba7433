"""`parley fmt` as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.commands import app

LOOSE, NEAT = "#  A\nHello.  \n", "# A\nHello.\n"
ROOT = Path(__file__).parents[5]


def fmt(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["fmt", *map(str, words)])
    return result.exit_code, result.output


def test_a_folder_is_laid_out_but_not_what_is_hidden_in_it(tmp_path: Path) -> None:
    loose = [tmp_path / "a.pb", tmp_path / "deep" / "b.playbooks"]
    others = [tmp_path / ".venv" / "c.pb", tmp_path / "node_modules" / "d.pb", tmp_path / "README.md"]
    for path in (*loose, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_text(LOOSE)
    code, said = fmt(tmp_path)
    assert (code, said.splitlines()[-1]) == (0, "2 files formatted; 0 files unchanged.")
    assert [path.read_text() for path in loose] == [NEAT, NEAT]
    assert {path.read_text() for path in others} == {LOOSE}
    assert fmt(tmp_path)[1] == "0 files formatted; 2 files unchanged.\n"


def test_check_changes_nothing_and_says_what_is_not_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "part.md"
    path.write_text(LOOSE)
    code, said = fmt("--check", path)
    assert (code, said) == (1, f"not formatted  {path}\n1 file to format; 0 files unchanged.\n")
    assert path.read_text() == LOOSE


def test_a_wrong_file_stays_and_the_others_are_laid_out(tmp_path: Path) -> None:
    odd, compiled, binary, good = (tmp_path / name for name in ("a.pb", "b.pbasm", "c.pb", "d.pb"))
    odd.write_text("#  A\n```python\n")
    compiled.write_text(LOOSE)
    binary.write_bytes(b"\xff\xfe#  A")
    good.write_text(LOOSE)
    code, said = fmt(odd, compiled, binary, good)
    assert code == 2
    assert "never closed" in said
    assert "not UTF-8" in said
    assert (odd.read_text(), compiled.read_text(), good.read_text()) == ("#  A\n```python\n", LOOSE, NEAT)


def test_a_link_and_the_rights_of_a_file_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "greet.pb", tmp_path / "link.pb"
    target.write_text(f"#!/usr/bin/env -S parley exec\n{LOOSE}")
    target.chmod(0o755)
    link.symlink_to(target)
    assert fmt(link)[0] == 0
    assert link.is_symlink()
    assert target.read_text().endswith(NEAT)
    assert target.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("folder", ["examples", "evals"])
def test_the_programs_that_people_copy_are_laid_out(folder: str) -> None:
    code, said = fmt("--check", ROOT / folder)
    assert code == 0, said
