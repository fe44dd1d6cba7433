"""A run by copies of one process tells of every test once, as one process would, and breaks off where one dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXTURE = """
import os
import pytest

@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    yield
    (folder.parent.parent / f"ended {os.getpid()}").touch(exist_ok=False)
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(3))
def test_it(whole, number, capfd):
    os.write(1, b"x")
    assert capfd.readouterr().out == "x"
    print(f"seen by {os.getpid()}")
    assert number != 2
    LAST
"""


def run(folder: Path, last: str = "pass") -> tuple[int, str]:
    """Four files of three tests each, of which the third fails, by two copies."""
    (folder / "conftest.py").write_text(FIXTURE)
    for name in "abcd":
        (folder / f"test_{name}.py").write_text(TESTS.replace("LAST", last))
    asked = ("-p", "tests.copies", "--copies=2", "-c", "/dev/null", "-p", "no:cacheprovider", f"--basetemp={folder}/t")
    line = [sys.executable, "-m", "pytest", *asked, str(folder)]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(line, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_test_is_told_once_with_what_it_wrote_and_a_fixture_of_the_run_ends_once_in_each_copy(
    tmp_path: Path,
) -> None:
    status, told = run(tmp_path)
    assert status == 1
    assert "4 failed, 8 passed" in told
    seen = {line.split()[-1] for line in told.splitlines() if line.startswith("seen by")}
    ended = {file.name.split()[-1] for file in (tmp_path / "t").glob("ended *")}
    assert told.count("\nseen by") == 4
    assert seen <= ended
    assert 1 <= len(ended) <= 2


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_copy_that_dies_breaks_the_run_off(tmp_path: Path, end: str) -> None:
    status, told = run(tmp_path, last=end)
    assert status not in (0, 1)
    assert "A process of tests died" in told
