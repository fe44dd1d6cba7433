"""The page about backups, followed: a conversation goes on from a backup that was taken while it was spoken in."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

COUNTER = ROOT / "tests" / "e2e" / "programs" / "counter.pb"


def commands(folder: Path) -> list[list[str]]:
    """The arguments of the page's commands, with its folders below `folder`."""
    text = (ROOT / "docs" / "running" / "backup.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("parley ")]
    paths = {"/backups": folder / "backups", "/srv": folder / "srv", "shop.pb": COUNTER}
    for name, path in paths.items():
        lines = [line.replace(name, str(path)) for line in lines]
    return [shlex.split(line)[1:] for line in lines]


async def test_the_page_about_backups_followed_to_the_letter(tmp_path: Path) -> None:
    for name in ("backups", "first", "srv/parley"):
        (tmp_path / name).mkdir(parents=True)
    backup, restore, run = commands(tmp_path)
    async with gateway(tmp_path / "first", COUNTER) as running, running.page() as page:
        room = Room(page, "tea")
        await room.open()
        await room.say("hi")
        await room.until("I count.")
        await room.say("one")
        await room.until("I count.", "That was number 1.")
        assert (await parley(tmp_path / "first", *backup))[0] == 0
        await room.say("two")
        await room.until("I count.", "That was number 1.", "That was number 2.")
    assert (await parley(tmp_path, *restore))[0] == 0
    assert run[:2] == ["run", "--data-dir"]
    async with gateway(Path(run[2]), Path(run[3])) as running, running.page() as page:
        room = Room(page, "tea")
        await room.join()
        assert room.texts() == ["I count.", "That was number 1."]
        await room.say("two again")
        await room.until("I count.", "That was number 1.", "That was number 2.")


async def test_what_a_backup_cannot_do_is_said(tmp_path: Path) -> None:
    status, _, errors = await parley(tmp_path, "backup", "b", PARLEY_REDIS_URL="redis://127.0.0.1:1/0")
    assert (status, "server of your own" in errors) == (2, True)
    status, _, errors = await parley(tmp_path, "backup", "--restore", "nowhere")
    assert (status, errors) == (2, "parley: There is no file nowhere.\n")
