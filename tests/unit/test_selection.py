"""Where tests with several servers are left out, and that a run of all tests says what it leaves out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.selection import COMMITS, KEEPING, are_untouched

ROOT = Path(__file__).parents[2]
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose storage changed in the first commit, before the last ones."""
    subprocess.run((*GIT, "init", "--quiet"), cwd=tmp_path, check=True)
    for number in range(COMMITS + 1):
        change(tmp_path, f"{KEEPING[0]}/inbox.py" if not number else f"docs/{number}.md")
        commit(tmp_path)
    return tmp_path


def change(checkout: Path, file: str) -> None:
    (checkout / file).parent.mkdir(parents=True, exist_ok=True)
    (checkout / file).write_text("changed")


def commit(checkout: Path) -> None:
    subprocess.run((*GIT, "add", "--all"), cwd=checkout, check=True)
    subprocess.run((*GIT, "commit", "--quiet", "--message", "Go on"), cwd=checkout, check=True)


def test_what_changed_before_the_last_commits_is_untouched(checkout: Path) -> None:
    assert are_untouched(checkout)


@pytest.mark.parametrize("keeping", KEEPING)
def test_what_one_of_the_last_commits_changed_is_touched(checkout: Path, keeping: str) -> None:
    change(checkout, keeping if "." in keeping else f"{keeping}/new.py")
    assert not are_untouched(checkout)
    commit(checkout)
    assert not are_untouched(checkout)


def test_an_open_change_of_a_known_file_is_one(checkout: Path) -> None:
    (checkout / KEEPING[0] / "inbox.py").write_text("changed again")
    assert not are_untouched(checkout)


def test_where_no_history_tells_nothing_counts_as_untouched(tmp_path: Path) -> None:
    assert not are_untouched(tmp_path)
    subprocess.run((*GIT, "init", "--quiet"), cwd=tmp_path, check=True)
    change(tmp_path, "docs/1.md")
    commit(tmp_path)
    assert not are_untouched(tmp_path)


def test_what_keeps_data_is_where_it_is_said_to_be() -> None:
    assert [each for each in KEEPING if not (ROOT / each).exists()] == []
