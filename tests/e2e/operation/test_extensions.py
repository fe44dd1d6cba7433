"""A platform of a package with an entry point, written by the guide to the letter, in a real gateway."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.e2e.gateway_process import ROOT, environment_of, gateway
from tests.fakes.servers.ports import free_port
from tests.unit.gateway.extensions.test_guide import files_of_the_guide

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

WORD = "open-sesame-please"
ECHO = """# Desk
```python
@playbook(triggers=["When program starts"])
async def Main():
    await Say("user", "You are connected.")
    for message in await WaitForMessage("user"):
        await Say("user", f"Heard: {message['text']}")
```
"""


def installed(folder: Path) -> Path:
    """The package of the guide as an installer leaves it: its code, and its entry points beside."""
    files = files_of_the_guide()
    project = tomllib.loads(files["pyproject.toml"])["project"]
    (folder / "parley_line").mkdir(parents=True)
    (folder / "parley_line" / "__init__.py").write_text(files["parley_line/__init__.py"])
    about = folder / f"parley_line-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points))
    return folder


async def test_people_talk_over_a_platform_that_a_package_brings(tmp_path: Path) -> None:
    site, program, port = installed(tmp_path / "site"), tmp_path / "echo.pb", free_port()
    program.write_text(ECHO)
    environment = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]),
        "PARLEY_LINE__WORD": WORD,
        "PARLEY_LINE__PORT": str(port),
        "PARLEY_LINE__ACCESS": "open",
        "PARLEY_COMPILER": "rules",
    }
    (tmp_path / "data").mkdir()
    async with gateway(tmp_path / "data", program, environment) as running:
        await running.listens_to("line")
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            lines = BufferedByteReceiveStream(stream)
            with anyio.fail_after(90):
                await stream.send(f"{WORD}\nhello\n".encode())
                assert await lines.receive_until(b"\n", 1000) == b"You are connected."
                await stream.send(b"what is new?\n")
                assert await lines.receive_until(b"\n", 1000) == b"Heard: what is new?"
        assert WORD not in running.output


def test_a_command_says_which_package_cannot_be_loaded(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    (site / "parley_line" / "__init__.py").write_text("import no_such_library\n")
    environment = environment_of(tmp_path, {"PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])})
    command = [sys.executable, "-m", "gateway", "check"]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert 'the package parley-line (entry point "line" of parley.extensions) fails when it is imported' in ended.stderr
    assert "Traceback" not in ended.stderr


def test_init_writes_what_a_package_declares(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    environment = environment_of(tmp_path, {"PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])})
    command = [sys.executable, "-m", "gateway", "new", "--plain", "new"]
    subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert "[line]\n# A port of this machine" in (tmp_path / "new" / "parley.toml").read_text()
    assert "#PARLEY_LINE__WORD=" in (tmp_path / "new" / ".env.example").read_text()
    assert "port = 7070" in (tmp_path / "new" / "parley.toml").read_text()
