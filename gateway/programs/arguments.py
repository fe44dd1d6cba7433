"""A program as a command: its entry's parameters are options, and its execution starts with that entry."""

from __future__ import annotations

import argparse
import ast
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from runtime.core.errors import ProgramError
from runtime.core.plain_text import enumerated
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program, PythonFence, Trigger, TriggerKind
from runtime.language.value_types import JSON_NAMES

_EXAMPLE = (
    "Write cli_entry: true below the ## heading of the playbook to start with, or give it the trigger "
    "\u201cAt the beginning\u201d."
)


def entry_of(program: Program) -> tuple[AgentSpec, PlaybookSpec]:
    """The playbook that a command line starts. Raises ProgramError for a program without one."""
    entry = program.entry
    if entry is None:
        waiting = [playbook.name for agent in program.agents for playbook in agent.playbooks if playbook.triggers]
        why = f"the triggers of {enumerated(waiting)} wait for something" if waiting else "no playbook begins by itself"
        raise ProgramError(f"{program.name} has no entry: {why}. {_EXAMPLE}")
    return entry


def read_arguments(command: str, playbook: PlaybookSpec, words: Sequence[str]) -> dict[str, Any]:
    """The values of a playbook's parameters among the words of a command line, each of its type.

    `--name value` (also `--name=value`, with `-` or `_`), `--flag` and `--no-flag` for a bool, JSON for a list or a
    dict. What was left out and has a default is left out. Wrong words end the process with code 2, `--help` with 0; a
    parameter that is called `help` or `no_flag` is that option.
    """
    description = playbook.description.replace("%", "%%") if "%(prog)" in playbook.description else playbook.description
    parser = argparse.ArgumentParser(command, None, description or None, allow_abbrev=False, conflict_handler="resolve")
    for param in playbook.params:
        _add(parser, param)
    found, unknown = parser.parse_known_args(list(words))
    if unknown:
        parser.error(
            f"unrecognized arguments: {' '.join(unknown)} (options of parley exec itself go before the program)"
        )
    return vars(found)


def begun_by(program: Program, arguments: Mapping[str, Any]) -> Program:
    """The program that begins with its entry and these arguments, and ends when the entry has returned.

    The other playbooks of the entry's agent do not begin by themselves; those of other agents do, as always.
    """
    agent, entry = entry_of(program)
    name = f"{entry.name}ByCommand"
    while agent.playbook(name) is not None:
        name += "_"
    source = (
        f"@playbook(hidden=True)\nasync def {name}():\n    await {entry.name}(**{dict(arguments)!r})\n"
        "    await EndProgram()\n"
    )
    trigger = Trigger("T1", TriggerKind.BGN, "When the command begins", entry.span)
    beginning = PlaybookSpec(name, "python", entry.span, metadata={"hidden": True}, triggers=(trigger,))
    others = (
        replace(playbook, triggers=tuple(one for one in playbook.triggers if one.kind is not TriggerKind.BGN))
        for playbook in agent.playbooks
    )
    first = replace(agent, playbooks=(*others, beginning), fences=(*agent.fences, PythonFence(source, entry.span)))
    rest = [other for other in program.agents if other.name != agent.name]
    return replace(program, agents=(first, *rest))


def _add(parser: argparse.ArgumentParser, param: Param) -> None:
    flags = list(dict.fromkeys((f"--{param.name.replace('_', '-')}", f"--{param.name}")))
    kind = _kind(param)
    required = param.default is None
    shown = f"{kind or 'text'}" + ("" if required else f", {param.default} when left out")
    common: dict[str, Any] = {
        "dest": param.name,
        "required": required,
        "default": argparse.SUPPRESS,
        "help": shown.replace("%", "%%"),
    }
    if kind == "bool":
        parser.add_argument(*flags, action=argparse.BooleanOptionalAction, **common)
    else:
        parser.add_argument(*flags, type=_READERS.get(kind, str), metavar=(kind or "text").upper(), **common)


def _kind(param: Param) -> str:
    """The type of a parameter, without brackets and None; the type of its default if it has none."""
    text = (param.type or "").strip("'\" ").removeprefix("Optional[")
    for part in text.split("|"):
        name = part.partition("[")[0].strip("] ")
        if name and name != "None":
            name = JSON_NAMES.get(name, name)
            return name if name in {*_READERS, "bool"} else ""
    try:
        value = ast.literal_eval(param.default or "''")
    except (ValueError, SyntaxError):
        return ""
    return type(value).__name__ if type(value).__name__ in {*_READERS, "bool"} else ""


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _data(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = json.loads(text)
        if not isinstance(value, kind):
            raise ValueError(text)
        return value

    read.__name__ = f"JSON {kind.__name__}"
    return read


_READERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": _number,
    "list": _data(list),
    "dict": _data(dict),
}
_number.__name__ = "float"
