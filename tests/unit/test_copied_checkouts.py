"""A checkout with its environment, copied to another place: its command runs what is there."""

from __future__ import annotations

import shutil
import subprocess
import venv
from pathlib import Path

from tests.architecture.source_tree import ROOT

_MAKE = ROOT / "scripts" / "make-environment.sh"
_SAYS = "import sys\nprint(__file__, *sys.argv[1:])\n"


def test_the_command_of_a_copied_or_moved_checkout_runs_the_code_beside_it(tmp_path: Path) -> None:
    made, copied, moved = (tmp_path / name for name in ("made", "copied here", "moved"))
    (made / "gateway").mkdir(parents=True)
    (made / "gateway" / "__main__.py").write_text(_SAYS)
    venv.create(made / ".venv", symlinks=True)
    subprocess.run(["sh", _MAKE, "python3", ".venv"], cwd=made, check=True, timeout=60)
    assert _ran(made) == f"{made}/gateway/__main__.py a b"
    shutil.copytree(made, copied, symlinks=True)
    made.rename(moved)
    for place in (copied, moved):
        assert _ran(place) == f"{place}/gateway/__main__.py a b"
    (tmp_path / "parley").symlink_to(moved / ".venv" / "bin" / "parley")
    assert _output(tmp_path / "parley").startswith(f"{moved}/gateway")


def test_an_environment_behind_a_link_runs_the_checkout_that_it_was_made_for(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "gateway").mkdir(parents=True)
    (checkout / "gateway" / "__main__.py").write_text(_SAYS)
    venv.create(tmp_path / "elsewhere" / "environment", symlinks=True)
    (checkout / ".venv").symlink_to(tmp_path / "elsewhere" / "environment")
    subprocess.run(["sh", _MAKE, "python3", ".venv"], cwd=checkout, check=True, timeout=60)
    assert _ran(checkout) == f"{checkout}/gateway/__main__.py a b"


def _ran(checkout: Path) -> str:
    return _output(checkout / ".venv" / "bin" / "parley", "a", "b")


def _output(*command: object) -> str:
    """What a command prints, begun in a folder that has nothing."""
    run = subprocess.run([*map(str, command)], cwd="/", check=True, capture_output=True, text=True, timeout=60)
    return run.stdout.strip()
