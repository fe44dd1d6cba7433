"""`parley chat`: a talk with a program in the terminal, which goes on after a restart."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.author.dev import ModelOption, dev_settings_flags, entered, program_here, scripted_model, talk_script
from gateway.cli.author.exec import Lines
from gateway.cli.output.terminal import ConfigOption, load_settings, note, plain_errors
from gateway.cli.serve.until_stopped import serve_until_stopped

if TYPE_CHECKING:
    from gateway.service import Ready

_PERSON = "web:terminal"


def chat(
    program: Annotated[
        Path, typer.Argument(metavar="[FILE|FOLDER]", help="The file of a program, or its folder.")
    ] = Path(),
    config: ConfigOption = None,
    model: ModelOption = None,
) -> None:
    """Talk with a program in the terminal. Ctrl-C ends; the talk goes on when you come back.

    State is beside the program, as for parley dev. Each line of standard input is a message.
    """
    import anyio

    from adapters.web.codec import Person
    from gateway.dev.board import DevBoard
    from gateway.dev.terminal_page import TerminalPage

    config = None if config is None else config.absolute()
    script = talk_script(model)
    files = entered(program)
    with plain_errors():
        flags = dev_settings_flags(config, None if script is not None else model, 0)
        settings = load_settings(config, {**flags, "web.host": "127.0.0.1"})
        files = files or program_here(settings)
        page = TerminalPage(files[0].stem if files else "lobby", _PERSON, sys.stdout, Lines().line, _end)

        async def serve(on_ready: Callable[[Ready], None]) -> None:
            from gateway.assembly.app import serve as serve_gateway

            def ready(now: Ready) -> None:
                on_ready(now)
                if now.attend is not None:
                    tasks.start_soon(now.attend, page, Person(_PERSON, getpass.getuser().title()))

            board = None
            if script is not None:
                board = DevBoard(lambda *_: ((), None), _nothing)
                board.models = await scripted_model(script, settings, files, _nothing)
            async with anyio.create_task_group() as tasks:
                await serve_gateway(settings, files, on_ready=ready, board=board)

        serve_until_stopped(serve, _nothing)
    note(f"\nGoodbye. The talk goes on with: parley chat {program}")


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _nothing(_line: str) -> None:
    """Say nothing between the words of a talk."""
