"""`parley check`: is everything in place, or are these programs right?"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from msgspec.structs import replace

from gateway.assembly.checking import checked, extension_names
from gateway.cli.author.compile import tell_costs
from gateway.cli.output import terminal
from gateway.cli.output.diagnosis import counted, overview
from runtime.core.errors import ConfigError, ParleyError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence

    from gateway.assembly.probes import HealthProbe
    from gateway.settings.tree import Settings
    from runtime.events.happening import Happening
    from runtime.language.diagnostics import Diagnostic
    from runtime.language.program import Program
    from runtime.llm.client import LLMClient

_GOOD, _BAD, _OFF = "✓", "✗", "–"  # noqa: RUF001 - a mark, not a hyphen

_Found: TypeAlias = "tuple[str, str, str]"
"""The mark, the name and the answer of something that was asked."""


def check(
    program: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of one program. Then only that program is checked (exit code 2 if it is wrong)."),
    ] = None,
    config: terminal.ConfigOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the problems in PROGRAM as JSON, for editors.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Correct misspelled and misplaced settings, and secrets that others can read.")
    ] = False,
) -> None:
    """Check settings, model, Valkey, platforms and sandbox; exit code 1 if something is wrong."""
    import anyio

    if program:
        if not _right(program, _readable_settings(config), as_json=as_json):
            raise typer.Exit(terminal.BAD_INPUT)
        return
    left = _repaired(config or Path("parley.toml"), fix=fix)
    with terminal.plain_errors():
        settings = terminal.load_settings(config)
    found = [_settings(settings), *anyio.run(_answers, settings)]
    _verdict(found)
    _show(found)
    if left or any(mark == _BAD for mark, _, _ in found):
        raise typer.Exit(terminal.FAILED)


def _repaired(toml: Path, *, fix: bool) -> bool:
    """Correct what can be corrected in this folder, or say how it would be; whether anything is left."""
    from gateway.dev.repairs import repairs

    found = repairs(Path(), toml)
    for one in found:
        if not fix:
            terminal.say(f"{_BAD} {one.what}. With --fix {one.how}.")
            continue
        try:
            one.do()
        except OSError as error:
            terminal.note(f"parley: {error.filename} cannot be changed ({error.strerror}); check its permissions.")
            raise typer.Exit(terminal.FAILED) from error
        terminal.say(f"{_GOOD} {one.what}: {one.how}.")
    return bool(found) and not fix


def _readable_settings(config: Path | None) -> tuple[Settings, Collection[str]] | None:
    """The settings, and the names that extensions add for programs. None where they cannot be read: programs can still
    be checked, and what they call may be there.
    """
    try:
        settings = terminal.load_settings(config)
        return settings, extension_names(settings)
    except ConfigError:
        return None


def _right(program: Sequence[Path], given: tuple[Settings, Collection[str]] | None, *, as_json: bool) -> bool:
    """Whether a program can be used. Prints its errors, its probable mistakes and its summary."""
    found, result = checked(program, given[1] if given else ())
    if given is None and result is not None:
        found = [replace(one, severity="warning") if one.severity == "error" else one for one in found]
    if given is not None and result is not None and not any(one.severity == "error" for one in found):
        found = [*found, *_read_again(given[0], result.program)]
        found.sort(key=lambda one: (one.span.file, one.span.line, one.span.column))
    kinds = Counter(one.severity for one in found)
    if as_json:
        terminal.say(json.dumps([one.as_json() for one in found], indent=2, ensure_ascii=False))
        return not kinds["error"]
    for one in found:
        terminal.say(one.render())
    named = " and ".join(str(path) for path in program)
    if result is not None and not kinds["error"]:
        warnings = f" with {counted(kinds['warning'], 'warning')}" if kinds["warning"] else ""
        terminal.say(f"{_GOOD} {named}: valid{warnings}. {overview(result.program)}{_left_to_a_model(result.program)}")
    else:
        served = "These steps" if result is not None else "The program"
        terminal.say(f"{_BAD} {named}: {counted(kinds['error'], 'error')}. {served} cannot run.")
    return not kinds["error"]


def _read_again(settings: Settings, program: Program) -> Sequence[Diagnostic]:
    """What a second reader finds, where a model is set up. What comes of it is no error of the program."""
    import anyio
    from rich.console import Console

    from gateway.models.opening import open_models
    from gateway.programs.second_reader import SecondReader

    answers: list[Happening] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[LLMClient | None]:
        async with open_models(settings) as (models, _):
            model = models.client_for("compile")
            with Console(stderr=True).status(f"asking {model.model if model else 'no model'}"):
                yield model

    if settings.asks_alone or not settings.programs.second_reader:  # a small model suspects a third of the right lines
        return ()
    try:
        reading = anyio.run(SecondReader(settings, opened, answers.append).read, program)
    except ParleyError as error:
        terminal.note(f"No model has read the program a second time: {error}")
        return ()
    if reading.said:
        terminal.note(reading.said)
    tell_costs(answers)
    return reading.found


def _left_to_a_model(program: Program) -> str:
    """How many steps a model carries out with statements."""
    from runtime.language.instructions.decode import decode
    from runtime.language.instructions.model import Free

    steps = [step for agent in program.agents for one in agent.playbooks if one.walked for step in one.walk_steps()]
    free = sum(any(isinstance(part, Free) for part in decode(step).parts) for step in steps)
    return (
        f" A model carries out {free} of its {counted(len(steps), 'step')}: `parley compile --explain` shows which."
        if free
        else ""
    )


def _settings(settings: Settings) -> _Found:
    from gateway.settings.tree import changed, environment_keys

    found = [f"{key}={value}" for key, value in changed(settings).items()]
    keys = f"; {', '.join(sorted(environment_keys()))} in the environment" if environment_keys() else ""
    return _GOOD, "settings", (", ".join(found) or "all at their defaults") + keys


async def _answers(settings: Settings) -> list[_Found]:
    from rich.console import Console

    from gateway.assembly.probes import probes

    found: list[_Found] = []
    for probe in await probes(settings):
        with Console(stderr=True).status(f"asking {probe.name}"):
            mark, text = await _answer(probe)
        found.append((mark, probe.name, text))
    return found


async def _answer(probe: HealthProbe) -> tuple[str, str]:
    try:
        answer = None if probe.ask is None else await probe.ask()
    except ParleyError as error:
        return _BAD, " ".join(str(error).split())
    except TimeoutError:
        return _BAD, "no answer in time; check its address and the network"
    return (_OFF, probe.note) if answer is None else (_GOOD, answer)


def _verdict(found: Sequence[_Found]) -> None:
    wrong = [name for mark, name, _ in found if mark == _BAD]
    if wrong:
        terminal.say(f"{_BAD} Not ready: see {', '.join(wrong)}.")
    elif any(mark == _OFF and name == "model" for mark, name, _ in found):
        terminal.say(
            f"{_GOOD} Ready. No model is set: steps that need one wait. Set a key, or try them with --model scripted."
        )
    else:
        terminal.say(f"{_GOOD} Ready.")


def _show(found: Sequence[_Found]) -> None:
    """What is wrong, then what is right, then what is not set up."""
    for shown in (_BAD, _GOOD):
        for mark, name, text in found:
            if mark == shown:
                _line(mark, name, text)
    terminal.say("Not set up:")
    for mark, name, text in found:
        if mark == _OFF:
            _line(mark, name, text)


def _line(mark: str, name: str, text: str) -> None:
    first, *more = text.split("\n")
    terminal.say(f"{mark} {name:<9} {first}")
    for line in more:
        terminal.say(f"{'':<11} {line}")
