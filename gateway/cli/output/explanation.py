"""A program's explanation as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.programs.explanation import Line, leads_back
from runtime.authoring.explain import PartKind

_COLOURS: Mapping[str, str] = {
    PartKind.ALONE: "green",
    PartKind.WORDS: "cyan",
    PartKind.VALUE: "blue",
    PartKind.CHOICE: "magenta",
    PartKind.FREE: "yellow",
}

_BY: Mapping[str, str] = {"rules": "dim", "model": "bold red"}
"""The colour for who decided what a step means; shown only where a model was asked."""

_WIDTH = 120
"""The number of columns where no terminal reports it."""


def say_explanation(
    explained: Sequence[Mapping[str, Any]], console: Console | None = None, *, codes: bool = False
) -> None:
    """Print it as a table, in colour in a terminal; with the `codes` of PBAsm also the lines that it adds to loops."""
    console = console or Console()
    if not console.is_terminal:
        console.width = _WIDTH
    for number, playbook in enumerate(explained):
        if number:
            console.print()
        console.print(Text(f"{playbook['agent']}.{playbook['playbook']}", style="bold"))
        if playbook["lines"]:
            console.print(_table([line for line in playbook["lines"] if codes or not leads_back(line)], codes=codes))
        else:
            console.print(f"  No steps; it is executed in {playbook['mode']} mode.")


def _table(lines: Sequence[Line], *, codes: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=2)
    table.add_column(no_wrap=True)
    table.add_column(ratio=3)
    asked = any(line["by"] == "model" for line in lines)
    for line in lines:
        depth = line["location"].count(".")
        for index, part in enumerate(line["parts"]):
            colour = _COLOURS[part["kind"]]
            does = Text(part["does"])
            if "why" in part:
                does.append(f" (free: {part['why']})", style="dim")
            words = Text("  " * depth + line["words"]) if index == 0 else Text()
            place = line["location"] if codes else line["location"].partition(":")[0]
            location = f"  {place}" if index == 0 else ""
            if asked and index == 0:
                does.append(
                    f" (decided by {'a model' if line['by'] == 'model' else 'the rules'})", style=_BY[line["by"]]
                )
            table.add_row(Text(location), words, Text(part["kind"], style=colour), does)
    return table
