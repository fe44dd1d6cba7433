"""Copies of a loaded process are what fresh processes are."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tests.e2e.gateway_process import environment_of, gateway, parley
from tests.e2e.tellers import TELLER
from tests.e2e.warm_starts import WarmStarts, plain, warm_for

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

FOR_PYTHON = {"PYTHONUTF8": "1"}
"""With it a process loads everything itself, and behaves as without."""


@pytest.mark.parametrize("arguments", [("check", "greeter.pb"), ("sessions", "list"), ("what",)])
async def test_a_command_ends_and_says_the_same(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "greeter.pb").write_text("# Greeter\n\n## Main\n\n### Steps\n- Say ünicode\n")
    assert WarmStarts.running is not None
    WarmStarts.running.has_seen(arguments)
    assert await parley(tmp_path, *arguments) == await parley(tmp_path, *arguments, **FOR_PYTHON)


def test_the_first_process_of_each_command_loads_everything_itself(tmp_path: Path) -> None:
    environment = environment_of(tmp_path, {})
    commands = [("no-such", "list", "x"), ("no-such", "show", "x"), ("no-such", "list"), ("none-either", "/x")]
    assert [warm_for(command, environment) is None for command in commands] == [True, True, False, True]
    assert warm_for(("none-either", "/y"), environment) is WarmStarts.running


async def test_a_gateway_has_its_own_folder_and_no_file_of_others_and_ends_alone(tmp_path: Path) -> None:
    assert WarmStarts.running is not None
    WarmStarts.running.has_seen(["run"])
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    async with gateway(tmp_path / "first", TELLER) as first, gateway(tmp_path / "second", TELLER) as second:
        processes = [WarmStarts.running.process_id, first.process_id, second.process_id]
        assert list(map(_folder, processes[1:])) == ["first", "second"]
        for one, other in combinations(processes, 2):
            assert _open_files(one) & _open_files(other) == set()
        first.kill()
        await first.gone()
        assert second.running
        assert await second.stop() == 0


def _folder(process: int) -> str:
    return Path(f"/proc/{process}/cwd").readlink().name


def _open_files(process: int) -> set[str]:
    """The pipes and sockets that it has open, by their numbers on this machine."""
    names = {str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir()}
    return {name for name in names if name.startswith(("pipe:", "socket:"))}


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
    assert not plain(environment_of(tmp_path, more))
