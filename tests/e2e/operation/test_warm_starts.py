"""Copies of a loaded process are what fresh processes are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.gateway_process import environment_of, gateway, parley
from tests.e2e.tellers import TELLER
from tests.e2e.warm_starts import plain, warm_for

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

FOR_PYTHON = {"PYTHONUTF8": "1"}
"""With it a process loads everything itself, and behaves as without."""


@pytest.mark.parametrize("arguments", [("check", "none.pb"), ("check", "greeter.pb"), ("sessions", "list"), ("what",)])
async def test_a_command_ends_and_says_the_same(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "greeter.pb").write_text("# Greeter\n\n## Main\n\n### Steps\n- Say ünicode\n")
    assert await parley(tmp_path, *arguments) == await parley(tmp_path, *arguments, **FOR_PYTHON)


async def test_a_gateway_has_its_own_folder_pipes_and_nothing_of_other_gateways(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("copy", "other", "fresh")]
    for folder in folders:
        folder.mkdir()
    async with (
        gateway(folders[0], TELLER) as copy,
        gateway(folders[1], TELLER) as other,
        gateway(folders[2], TELLER, fresh=True) as fresh,
    ):
        assert [os.readlink(f"/proc/{one.process_id}/cwd") for one in (copy, other, fresh)] == list(map(str, folders))
        assert _open_files(other.process_id) == _open_files(fresh.process_id)
        other.kill()
        await other.gone()
        assert copy.running
        assert await copy.stop() == 0


def _open_files(process: int) -> list[str]:
    """What kinds of files it has open, with the standard ones by number."""
    names = [os.readlink(file).partition(":")[0] for file in Path(f"/proc/{process}/fd").iterdir()]
    return sorted(name for name in names if not name.startswith("/"))


@pytest.mark.parametrize(
    "more",
    [
        {"LD_PRELOAD": "/x.so"},
        {"OPENAI_API_KEY": "k"},
        {"PARLEY_MODEL_API_KEY": "k"},
        {"PYTHONPATH": "/x"},
        {"TZ": "UTC"},
    ],
)
def test_what_is_looked_at_while_loading_asks_for_a_fresh_process(tmp_path: Path, more: dict[str, str]) -> None:
    assert plain(environment_of(tmp_path, {}))
    assert warm_for(environment_of(tmp_path, {})) is not None
    assert not plain(environment_of(tmp_path, more))
