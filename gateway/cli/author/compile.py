"""`parley compile`: a program's PBAsm, or what is wrong with it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.assembly.checking import extension_names, warnings_of
from gateway.cli.output import terminal
from gateway.cli.output.diagnosis import counted
from runtime.language.diagnostics import ProgramRejected

if TYPE_CHECKING:
    from gateway.settings.tree import Settings
    from runtime.events.happening import Happening
    from runtime.language.compiler import CompileProgress, CompileResult, OnProgress
    from runtime.language.diagnostics import Diagnostic
    from runtime.language.locking.locked_steps import LockedProgram


def compile_programs(  # noqa: PLR0913 - options of a command
    program: Annotated[list[Path], typer.Argument(help="Program files; together they are one program.")],
    config: terminal.ConfigOption = None,
    compiler: Annotated[
        Literal["auto", "rules"] | None,
        typer.Option(help="Whether the lock beside the program counts, or the rules alone (default: the setting)."),
    ] = None,
    lock: Annotated[
        bool,
        typer.Option("--lock", help="Ask the model for the steps that stay free, and write PROGRAM.lock."),
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Folder to write the .pbasm to, instead of showing it.")] = None,
    to_stdout: Annotated[bool, typer.Option("--to-stdout", help="Print the PBAsm also with --output.")] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Explain what the runtime does on its own, and what it asks a model."),
    ] = False,
    codes: Annotated[bool, typer.Option("--codes", help="With --explain: show the codes of PBAsm, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result, or the errors, as JSON.")] = False,
) -> None:
    """Show PROGRAM as PBAsm, and what is wrong with it and where (exit code 2)."""
    import anyio

    with terminal.plain_errors():
        settings = terminal.load_settings(config, {"compiler": compiler})
        try:
            if lock:
                _lock(settings, program)
            result = anyio.run(compiled, settings, program, partial(_tell, settings.compiler))
        except ProgramRejected as rejected:
            if not as_json:
                raise
            terminal.say(json.dumps({"errors": [found.as_json() for found in rejected.diagnostics]}, indent=2))
            raise typer.Exit(terminal.BAD_INPUT) from rejected
    found = warnings_of(result, extension_names(settings))
    for one in found:
        terminal.note(one.render())
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        target = output / f"{program[0].stem}.pbasm"
        target.write_text(result.program.pbasm, encoding="utf-8")
        terminal.note(f"written  {target}")
    if explain:
        from gateway.cli.output.explanation import say_explanation
        from gateway.programs.explanation import explanation_of

        explained = explanation_of(result.program, result.report)
        if as_json:
            terminal.say(json.dumps(explained, indent=2, ensure_ascii=False))
        else:
            say_explanation(explained, codes=codes)
    elif as_json:
        from runtime.language.compiler import to_json

        terminal.say(json.dumps(to_json(result.program), indent=2))
    elif to_stdout or output is None:
        terminal.say(result.program.pbasm.rstrip("\n"))
    _end(found)


def _end(found: Sequence[Diagnostic]) -> None:
    """Raise Exit where something found is an error."""
    if any(one.severity == "error" for one in found):
        raise typer.Exit(terminal.BAD_INPUT)


async def compiled(settings: Settings, programs: Sequence[Path], tell: OnProgress) -> CompileResult:
    """A program's files, compiled as the settings say. Raises ProgramError."""
    from runtime.language.compiler import compile_program
    from runtime.language.lowering.rules import RulesLowerer

    cache_dir = settings.data_dir / "compiled"
    return await compile_program(
        programs,
        lowerer=RulesLowerer(),
        cache_dir=cache_dir,
        on_progress=tell,
        with_locks=settings.compiler == "auto",
    )


def _lock(settings: Settings, programs: Sequence[Path]) -> None:
    """Have a model read the steps that stay free, and write the locks; what changes is printed as a diff."""
    import anyio

    from runtime.language.locking.lock_file import lock_path, lock_text

    files, found = anyio.run(_asked, settings, programs)
    for file in files:
        path, text = lock_path(file), lock_text(found.locks.get(file, ()))
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == before:
            continue
        for line in difflib.unified_diff(before.splitlines(), text.splitlines(), f"{path}", f"{path}", lineterm=""):
            terminal.note(line)
        if text:
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink()
    entries = sum(map(len, found.locks.values()))
    terminal.note(f"locked: {counted(entries, 'step')}; still free: {len(found.free)}")


async def _asked(settings: Settings, programs: Sequence[Path]) -> tuple[Sequence[str], LockedProgram]:
    from rich.console import Console

    from gateway.models.opening import open_models
    from runtime.core.clock import SystemClock
    from runtime.language.locking.lock_file import read_locks
    from runtime.language.locking.locked_steps import ask_for_locks
    from runtime.language.syntax.parser import parse
    from runtime.language.syntax.source import read_paths

    source = read_paths(programs)
    answers: list[Happening] = []
    async with open_models(settings) as (models, _):
        model = models.client_for("compile") or models
        try:
            with Console(stderr=True).status(f"asking {model.model}"):
                today = SystemClock().now().date()
                parsed, locks = parse(source), read_locks(source.files)
                return source.files, await ask_for_locks(parsed, locks, model, answers.append, today)
        finally:
            tell_costs(answers)


def tell_costs(answers: Sequence[Happening]) -> None:
    from gateway.models.answers import ModelAmounts, amounts_of, in_words
    from runtime.core.texts import load_texts
    from runtime.events.frames import LLMAnswered

    spent = ModelAmounts()
    for answer in answers:
        if isinstance(answer, LLMAnswered):
            spent = spent.plus(amounts_of(answer))
    if spent.answers:
        terminal.note(str(in_words(spent, load_texts("en"))))


def _tell(compiler: str, progress: CompileProgress) -> None:
    how = {
        "cached": f"{compiler}, from the cache",
        "compiled": f"{compiler}, compiled now",
        "given": "PBAsm as given",
        "remote": "tools of a server",
    }
    terminal.note(f"[{progress.done}/{progress.total}] {progress.agent}: {how[progress.how]}")
