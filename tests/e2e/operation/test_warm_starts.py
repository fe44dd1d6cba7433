"""Copies of a loaded process are what fresh processes are."""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import socket
import subprocess
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


def test_a_stand_in_passes_on_input_outputs_signals_and_the_end_of_its_copy(tmp_path: Path) -> None:
    assert WarmStarts.running is not None
    folder, pipe = tmp_path / "here", subprocess.PIPE
    folder.mkdir()
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    for word, code in (("end", 7), ("wait", -signal.SIGTERM), ("forever", -signal.SIGKILL)):
        line = WarmStarts.running.command("own", "ünicode")
        with subprocess.Popen(line, cwd=folder, env=OWN_ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{word}\n".encode())
            process.stdin.close()
            told = json.loads(process.stdout.readline())
            if code < 0:
                process.send_signal(-code)
            assert process.stdout.read() == b"", "the copy has ended"
            assert process.wait(timeout=60) == code
        assert told.pop("process") != process.pid
        assert told == {"word": word, "arguments": ["ünicode"], "environment": OWN_ENVIRONMENT, "folder": str(folder)}


def test_who_is_killed_before_it_has_read_what_it_was_told_ends_its_copy_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    with WarmStarts.of(tmp_path, ["json"]) as warm:
        assert warm is not None
        line = warm.command("own")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asks, Path(os.devnull).open("rb+") as nothing:
            asks.connect(line[line.index("own") - 1])
            asked = marshal.dumps(["own", [], OWN_ENVIRONMENT, str(tmp_path)])
            socket.send_fds(asks, [asked], [nothing.fileno()] * 3)
            select.select([asks], [], [])
        again = subprocess.run(
            line, cwd=tmp_path, env=OWN_ENVIRONMENT, input=b"end\n", capture_output=True, check=False
        )
        assert again.returncode == 7, again.stderr.decode()


OWN_ENVIRONMENT = {"A": "b", "LC_CTYPE": "C.UTF-8"}
OWN = """
import json, os, signal, sys, time
word = sys.stdin.readline().strip()
told = {"word": word, "arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}
print(json.dumps(told | {"process": os.getpid()}), flush=True)
if word != "end":
    time.sleep(600)
sys.exit(7)
"""
