"""`parley exec`, in a process of its own."""

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from gateway.cli.author.exec import READER, Lines
from tests.e2e.gateway_process import environment_of
from tests.e2e.warm_starts import parley_command

pytestmark = pytest.mark.usefixtures("warm_starts")

PROGRAM = """#!/usr/bin/env -S parley exec
# Desk
```python
@playbook(cli_entry=True)
async def Main(name: str, then: str = "end"):
    \"\"\"Greets somebody.\"\"\"
    await Say("user", f"Hello, {name}, of {variables['startup_message'].strip() or 'nowhere'}")
    if then == "fail":
        raise ValueError("it was to fail")
    if then == "ask":
        await WaitForMessage("user")
    if then == "sleep":
        await Sleep(1000)
```
"""


def command(
    folder: Path, *words: str, through: Sequence[str] = (), stdin: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    (folder / "greet").write_text(PROGRAM, encoding="utf-8")
    environment = environment_of(folder / "data", {"HOME": str(folder)})
    started = [sys.executable, "-m", "gateway", "exec", *words]
    line = [*through, *started] if through else parley_command(["exec", *words], environment)
    pipe = subprocess.PIPE
    return subprocess.Popen(line, cwd=folder, env=environment, stdin=stdin, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["greet", "--name", "Ada"], 0, "Hello, Ada, of Oslo\n", ""),
        (["--message", "Rome", "greet", "--name=Bo"], 0, "Hello, Bo, of Rome\n", ""),
        (["greet", "--name", "Ada", "--then", "fail"], 1, "Hello, Ada, of Oslo\n", "it was to fail"),
        (["greet", "--name", "Ada", "--then", "ask"], 3, "Hello, Ada, of Oslo\n", "it waits for somebody"),
        (["greet"], 2, "", "the following arguments are required: --name"),
        (["none.pb"], 2, "", "no such file"),
    ],
)
def test_exit_code_and_what_is_on_which_output(tmp_path: Path, words: list[str], code: int, out: str, err: str) -> None:
    with command(tmp_path, *words) as process:
        said, beside = process.communicate("Oslo\n", timeout=60)
    assert (process.returncode, said) == (code, out)
    assert (err in beside) if err else (beside == "")


def test_help_of_the_program_is_its_own(tmp_path: Path) -> None:
    with command(tmp_path, "greet", "--help") as process:
        said, _ = process.communicate("", timeout=60)
    assert process.returncode == 0
    assert "Greets somebody." in said
    assert "--then" in said


def test_ctrl_c_ends_it_with_130(tmp_path: Path) -> None:
    with command(tmp_path, "--message", "x", "greet", "--name", "Ada", "--then", "sleep") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Hello, Ada, of x\n"
        process.send_signal(signal.SIGINT)
        _, beside = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in beside) == (130, False)


def test_ctrl_c_while_it_reads_what_is_piped_in_ends_it(tmp_path: Path) -> None:
    with command(tmp_path, "greet", "--name", "Ada") as process:
        assert process.stdin is not None
        process.stdin.write("x" * 400_000)  # more than a pipe holds, so it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT
        assert (process.stdout and process.stdout.read(), process.stderr and process.stderr.read()) == ("", "")


def test_a_reader_that_has_gone_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    with command(tmp_path, "greet", "--name", "Ada") as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.close()
        os.write(process.stdin.fileno(), b"\xff\xfe")
        process.stdin.close()
        assert process.stderr is not None
        beside = process.stderr.read()
        process.wait(60)
    assert (process.returncode, beside) == (0, "")


@pytest.mark.parametrize(
    ("outputs", "code", "err"),
    [(">/dev/full", 1, "its output cannot be written: No space left"), (">&-", 0, ""), (">&- 2>&-", 0, "")],
)
def test_outputs_that_take_nothing_are_no_fault_of_the_program(
    tmp_path: Path, outputs: str, code: int, err: str
) -> None:
    shell = ["sh", "-c", f'"$@" {outputs}', "sh"]
    with command(tmp_path, "--message", "x", "greet", "--name", "Ada", through=shell) as process:
        _, beside = process.communicate(timeout=60)
    assert process.returncode == code
    assert (err in beside) if err else (beside == "")
    assert "Traceback" not in beside


def test_without_any_input_it_begins_with_nothing(tmp_path: Path) -> None:
    with command(tmp_path, "greet", "--name", "Ada", through=["sh", "-c", 'exec "$@" <&-', "sh"]) as process:
        said, beside = process.communicate(timeout=60)
    assert (process.returncode, said, beside) == (0, "Hello, Ada, of nowhere\n", "")


def test_at_a_terminal_it_asks_for_lines_until_there_are_no_more(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with command(tmp_path, "greet", "--name", "Ada", "--then", "ask", stdin=theirs) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert process.stderr.read(2) == "> "
        os.write(ours, b"\x04")
        said, beside = process.communicate(timeout=60)
    os.close(ours)
    assert (process.returncode, said) == (3, "Hello, Ada, of nowhere\n")
    assert "it waits for somebody" in beside


TALK = """# Desk
```python
@playbook(cli_entry=True)
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", f"heard {message['text']}")
            if message["text"] == "bye":
                return
```
"""


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ("one\ntwo\nbye\n", 0, "heard one\nheard two\nheard bye\n"),
        ("one\nbye", 0, "heard one\nheard bye\n"),
        ("one\n", 3, "heard one\n"),
        ("", 3, ""),
    ],
)
def test_each_line_of_a_pipe_is_a_message_given_when_it_waits(tmp_path: Path, lines: str, code: int, said: str) -> None:
    (tmp_path / "talk.pb").write_text(TALK, encoding="utf-8")
    with command(tmp_path, "talk.pb") as process:
        shown, beside = process.communicate(lines, timeout=60)
    assert (process.returncode, shown) == (code, said)
    assert ("it waits for somebody" in beside) == (code == 3)
    assert "> " not in beside


def test_a_line_is_read_when_it_is_waited_for_and_ctrl_c_ends_the_wait(tmp_path: Path) -> None:
    (tmp_path / "talk.pb").write_text(TALK, encoding="utf-8")
    with command(tmp_path, "talk.pb") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for word in ("one", "two"):
            process.stdin.write(word + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"heard {word}\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 130


async def test_a_line_that_nobody_waits_for_any_more_is_for_who_asks_next(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, writes = os.pipe()
    with os.fdopen(reads, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        lines = Lines()
        with anyio.move_on_after(0):
            await lines.line()
        readers = [thread for thread in threading.enumerate() if thread.name == READER]
        os.write(writes, b"one\ntwo")
        assert await lines.line() == "one"
        os.close(writes)
        assert [await lines.line(), await lines.line()] == ["two", None]
    assert [thread.daemon for thread in readers] == [True], "Ctrl-C would wait for a line"
