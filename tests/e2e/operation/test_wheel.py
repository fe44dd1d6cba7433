"""What is shipped starts by itself: the wheel, unpacked where no source is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


def unpacked(folder: Path) -> Path:
    """The wheel of this checkout, as an installer would put it down."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "installed")
    return folder / "installed"


async def test_the_wheel_alone_writes_a_first_folder_and_serves_the_tour(tmp_path: Path) -> None:
    alone = {"PYTHONPATH": str(unpacked(tmp_path))}
    work = tmp_path / "work"
    work.mkdir()
    status, output, errors = await parley(work, "new", "--plain", **alone)
    assert (status, errors) == (0, "")
    assert "parley run hello.pb" in output
    assert (work / "parley.toml").read_text() == (ROOT / "config" / "parley.toml").read_text()
    assert (await parley(work, "compile", "hello.pb", **alone))[0] == 0
    async with gateway(work, None, alone) as running, running.page() as page:
        room = Room(page, "tea")
        await room.open()
        await room.say("hello")
        await room.until_some("I am the **Guide**")


def test_the_wheel_has_the_command_and_no_tests(tmp_path: Path) -> None:
    installed = unpacked(tmp_path)
    (described,) = installed.glob("*.dist-info")
    assert "parley = gateway.__main__:main" in (described / "entry_points.txt").read_text()
    shipped = {path.name for path in installed.iterdir()} - {described.name}
    assert shipped == {"parley", "gateway", "adapters", "runtime"}
