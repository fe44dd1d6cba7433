"""`parley dev`: the gateway for who writes a program, with state beside it, a watch, and a board beside the chat.
`parley chat`: a talk with a program in the terminal, which goes on after a restart.
"""

from __future__ import annotations

import getpass
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from gateway.assembly.checking import checked, extension_names, refuse_errors
from gateway.cli.author.exec import Lines
from gateway.cli.output.terminal import BAD_INPUT, ConfigOption, load_settings, note, plain_errors, quiet_logs, say
from gateway.cli.run import serve_until_stopped
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice

if TYPE_CHECKING:
    from gateway.dev.board import Look
    from gateway.service import GatewayReady
    from gateway.settings.tree import Settings
    from runtime.bus import Bus
    from runtime.llm.models import ModelRegistry

_STATE = ".parley"
"""The folder for state, in the folder of the program."""

_PROGRAMS = (".pb", ".pbasm")
_SCRIPTED, _TALKS = "scripted", ".test.md"

_ModelOption: TypeAlias = Annotated[
    str | None, typer.Option(help="Language model, by litellm's name. `scripted` or a talk file uses none.")
]

_PERSON = "web:terminal"


def dev(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER|FILE]", help="The folder of a program, or its file.")
    ] = Path(),
    config: ConfigOption = None,
    model: _ModelOption = None,
    port: Annotated[
        int | None, typer.Option(help="Port of the web chat. [default: the port in the settings, if it is free]")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the chat in the browser.")] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Restart conversations when a file is saved.")] = False,
) -> None:
    """Run a program while you write it. Saved changes take effect at once; the chat shows the current step."""
    config = None if config is None else config.absolute()
    script = _talk_script(model)
    files = entered(folder)
    from gateway.dev.board import DevBoard

    with plain_errors():
        flags, files = _dev_settings_flags(config, None if script is not None else model, port, files)
        settings = load_settings(config, flags)
        check = partial(checked, calls=extension_names(settings))
        board = DevBoard(check, say)
        board.anew = anew
        board.reads_again = script is None
        _until_right(files, settings, check)

        async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
            from gateway.assembly.app import serve as serve_gateway

            if script is not None:
                board.models = await _scripted_model(script, settings, files, say)

            def read() -> Settings:
                return load_settings(config, flags)

            def ready(now: GatewayReady) -> None:
                on_ready(now)
                if open_page:
                    _open(now.lines)

            await serve_gateway(settings, files, on_ready=ready, read=read, board=board)

        serve_until_stopped(serve)


def _talk_script(model: str | None) -> list[Path] | None:
    """The talk files that answer in place of a model: the one named, none for those beside the programs; None where a
    model answers."""
    if model == _SCRIPTED:
        return []
    if model is None or not model.endswith(_TALKS):
        return None
    if not Path(model).exists():
        named = f"Name a talk file, or use those beside the program with --model {_SCRIPTED}."
        note(f"parley: there is no {model}. {file_advice(Path(model), (_TALKS,), named)}")
        raise typer.Exit(BAD_INPUT)
    return [Path(model).absolute()]


async def _scripted_model(
    script: Sequence[Path], settings: Settings, files: Sequence[Path], tell: Callable[[str], None]
) -> Callable[[Bus], tuple[ModelRegistry, str]]:
    """A model that answers from talks. Raises ProgramError and ConfigError for talks that are wrong."""
    from gateway.programs.loading import routes_of
    from gateway.talks.trying import ScriptedModel

    programs = [file for program in routes_of(settings, files).files.values() for file in program]
    beside = [file.with_suffix(_TALKS) for file in programs]
    model = ScriptedModel(script or [file for file in dict.fromkeys(beside) if file.exists()], settings, tell)
    await model.read()
    return model.models


def entered(folder: Path) -> list[Path]:
    """Go into the folder; the file that was named."""
    if not folder.exists():
        new = folder.with_suffix("") if folder.suffix in _PROGRAMS else folder
        advice = f"Name the folder of a program, or create one with parley new {new}."
        note(f"parley: there is no {folder}. {file_advice(folder, _PROGRAMS, advice)}")
        raise typer.Exit(BAD_INPUT)
    named = [] if folder.is_dir() else [Path(folder.name)]
    os.chdir(folder.parent if named else folder)
    return named


def _program_here(settings: Settings) -> list[Path]:
    """The one program of this folder; none where the settings have routes."""
    if settings.route:
        return []
    found = sorted(path for path in Path().iterdir() if path.suffix in _PROGRAMS and path.is_file())
    if len(found) == 1:
        return found
    if not found:
        note("parley: there is no program (.pb) in this folder. Create one with parley new.")
    else:
        names = ", ".join(map(str, found))
        note(f"parley: there are several programs here ({names}). Name one, or add a [[route]] to parley.toml.")
    raise typer.Exit(BAD_INPUT)


def _dev_settings_flags(
    config: Path | None, model: str | None, port: int | None, files: list[Path]
) -> tuple[dict[str, Any], list[Path]]:
    """What holds while one writes, in place of what the settings say; and the files, else the one program here."""
    from gateway.settings.tree import changed

    flags: dict[str, Any] = {"model": model, "web.port": port, "programs.reload": True}
    plain = load_settings(config, flags)
    files = files or _program_here(plain)
    if "data_dir" not in changed(plain):
        flags["data_dir"] = Path(_STATE).absolute()
        _hidden(Path(_STATE))
    flags |= quiet_logs(plain)
    if port is None and not _is_free(plain.web.host, plain.web.port):
        flags["web.port"] = 0
    return flags, files


def _hidden(state: Path) -> None:
    """Make the folder for state, which belongs into no repository. Raises ConfigError."""
    ignored = state / ".gitignore"
    try:
        state.mkdir(exist_ok=True)
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{ignored.absolute()} cannot be written ({error.strerror}); set PARLEY_DATA_DIR to a folder for the state."
        ) from error


def _is_free(host: str, port: int) -> bool:
    from gateway.web.server import listen

    try:
        listen(host, port).close()
    except ConfigError:
        return False
    return True


def _until_right(files: Sequence[Path], settings: Settings, check: Look) -> None:
    """Return when the programs can be used. Until then their errors are shown, and a saved file is tried again."""
    from watchfiles import watch

    from gateway.programs.loading import routes_of

    programs = routes_of(settings, files).files.values()
    while True:
        wrong = False
        for program in programs:
            found, result = check(program)
            errors = [one for one in found if one.severity == "error"]
            wrong = wrong or result is None or bool(errors)
            for one in errors:
                say(one.render())
        if not wrong:
            return
        say("\nCorrect the file and save it. Parley is waiting for that; Ctrl-C stops it.")
        for _ in watch(*{file.absolute().parent for program in programs for file in program}, recursive=False):
            break


def _open(lines: Sequence[str]) -> None:
    import webbrowser

    url = next((word for line in lines for word in line.split() if word.startswith("http://")), None)
    if url is not None:
        webbrowser.open(url)


def chat(
    program: Annotated[
        Path, typer.Argument(metavar="[FILE|FOLDER]", help="The file of a program, or its folder.")
    ] = Path(),
    config: ConfigOption = None,
    model: _ModelOption = None,
) -> None:
    """Talk with a program in the terminal. Ctrl-C ends; the talk goes on when you come back.

    State is beside the program, as for parley dev. Each line of standard input is a message.
    """
    config = None if config is None else config.absolute()
    script = _talk_script(model)
    files = entered(program)
    import anyio

    from adapters.web.codec import WebVisitor
    from gateway.dev.board import DevBoard
    from gateway.dev.terminal_page import TerminalPage
    from gateway.models.opening import default_model
    from gateway.programs.loading import routes_of
    from runtime.llm.choice import NoModel

    with plain_errors():
        flags, files = _dev_settings_flags(config, None if script is not None else model, 0, files)
        settings = load_settings(config, {**flags, "web.host": "127.0.0.1"})
        note("Starting …")
        calls = extension_names(settings)
        for served in routes_of(settings, files).files.values():
            refuse_errors(served, calls)
        board = DevBoard(partial(checked, calls=calls), _only_errors)
        board.reads_again = script is None
        board.quiet = "logs.level" in flags
        page = TerminalPage(files[0].stem if files else "lobby", _PERSON, sys.stdout, Lines().line, _end)

        async def serve(on_ready: Callable[[GatewayReady], None]) -> None:
            from gateway.assembly.app import serve as serve_gateway

            def ready(now: GatewayReady) -> None:
                on_ready(now)
                if now.attend is not None:
                    tasks.start_soon(now.attend, page, WebVisitor(_PERSON, getpass.getuser().title()))

            if script is not None:
                board.models = await _scripted_model(script, settings, files, _nothing)
            elif isinstance(choice := await default_model(settings), NoModel):
                note(f"{choice.reason} Or let its talks answer: parley chat {program} --model {_SCRIPTED}\n")
            async with anyio.create_task_group() as tasks:
                await serve_gateway(settings, files, on_ready=ready, board=board)

        serve_until_stopped(serve, _nothing)
    goes_on = "The program has ended. A message begins it anew" if board.ended else "The talk goes on"
    note(f"\nGoodbye. {goes_on} with: parley chat {program}{'' if script is None else f' --model {model}'}")


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _only_errors(text: str) -> None:
    """Say what keeps a saved file from being used."""
    if ": error: " in text:
        note(text)


def _nothing(_line: str) -> None:
    """Say nothing between the words of a talk."""
