"""`parley exec`: a program as a command."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.author.compile import compiled
from gateway.cli.output.terminal import FAILED, ConfigOption, load_settings, note, plain_errors

if TYPE_CHECKING:
    import asyncio

    from gateway.assembly.standalone import ReadLine, StandaloneOutcome
    from gateway.settings.tree import Settings
    from runtime.language.program import Program

_BEGINNING = "startup_message"
"""The variable of a program that takes all input at the start."""

_INPUT_NEEDED = 3
_READ_BYTES = 65_536
READER = "standard input"
"""The name of the thread that reads lines."""
_INTERRUPTED = 130


def exec_program(
    context: typer.Context,
    program: Annotated[Path, typer.Argument(help="File (.pb, .pbasm) of the program.")],
    config: ConfigOption = None,
    model: Annotated[str | None, typer.Option(help="Language model, by litellm's name.")] = None,
    message: Annotated[str | None, typer.Option(help="The first message, instead of standard input.")] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Exit with code 3 when it waits for a message.")] = False,
) -> None:
    """Execute PROGRAM once. Options after PROGRAM belong to the program (PROGRAM --help lists
    them).

    Its agents write to standard output. Each line of standard input is a message to it, read when it waits for one.
    Exit codes: 0 done, 1 failed, 2 wrong input, 3 input needed, 130 Ctrl-C.
    """
    import anyio

    from gateway.programs.arguments import begun_by, entry_of, read_arguments

    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()  # it may be started without any
    try:
        with plain_errors():
            settings = load_settings(config, {"model": model})
            made = anyio.run(compiled, settings, [program], lambda _progress: None).program
            entry = entry_of(made)[1]
            arguments = read_arguments(f"parley exec {program}", entry, context.args)
            talks = message is not None or _at_a_terminal() or _BEGINNING not in made.pbasm
            text = message or "" if talks else _standard_input()
            listens = talks and not no_input and sys.stdin is not None
            ended = _executed(settings, begun_by(made, arguments), text, Lines().line if listens else None)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    if ended.how != "done":
        note(f"parley: {program.name}: {ended.why}")
        raise typer.Exit(FAILED if ended.how == "failed" else _INPUT_NEEDED)


def _executed(settings: Settings, program: Program, text: str, read_line: ReadLine | None) -> StandaloneOutcome:
    import asyncio

    from gateway.assembly.standalone import TerminalOutput, execute
    from runtime.execution.frames.loop import FrameLoop

    try:
        with asyncio.Runner(loop_factory=FrameLoop) as runner:
            return runner.run(execute(settings, program, text, TerminalOutput(sys.stdout, sys.stderr), read_line))
    finally:
        _close_output()


def _standard_input() -> str:
    """The text on standard input, with bytes that are not UTF-8 replaced. Ctrl-C ends the process at once."""
    if sys.stdin is None or _at_a_terminal():
        return ""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    finally:
        signal.signal(signal.SIGINT, before)


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _close_output() -> None:
    """Close standard output, even when the pipe has no reader or the disk is full, and even as Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Lines:
    """The lines of standard input, each read when it is asked for.

    They are read in a thread that ends with the process, past Python's own buffer: Ctrl-C must not wait for a line, and
    a thread in that buffer would break the end of the process. What nobody waits for any more is for who asks next.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._next: asyncio.Future[bytes] | None = None

    async def line(self) -> str | None:
        """The person's next line; None at the end of input."""
        import asyncio

        if _at_a_terminal():
            sys.stderr.write("> ")
            sys.stderr.flush()
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            threading.Thread(target=self._read, args=(loop, self._next), name=READER, daemon=True).start()
        line = await asyncio.shield(self._next)
        self._next = None
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None

    def _read(self, loop: asyncio.AbstractEventLoop, line: asyncio.Future[bytes]) -> None:
        more = b" "
        while b"\n" not in self._buffer and more:
            try:
                more = os.read(sys.stdin.fileno(), _READ_BYTES)
            except OSError:  # the terminal is gone: the end of input
                more = b""
            self._buffer += more
        first, newline, self._buffer = self._buffer.partition(b"\n")
        with suppress(RuntimeError):  # the loop is closed: the program has ended
            loop.call_soon_threadsafe(line.set_result, first + newline)
