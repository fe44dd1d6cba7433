"""Reading and lowering programs: `python -m benchmarks.programs.language`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from markdown_it import MarkdownIt

from benchmarks.table import Row, show
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read
from runtime.language.program import Program
from runtime.language.syntax.nodes import ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

EXAMPLES = Path(__file__).parents[2] / "examples"
COPIES = 2
ROUNDS = 7


def program_text() -> str:
    """A program of some 30 kB: copies of the examples, each with agents of its own."""
    parts = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.pb"))]
    return "\n\n".join(
        _renamed(part, f"Copy{copy}Of{number}") for copy in range(COPIES) for number, part in enumerate(parts)
    )


def short_steps() -> str:
    """Some 100 kB of short steps, no two of them alike."""
    return _numbered(_SHORT)


def conditions() -> str:
    """Some 130 kB of conditions in words and their steps, no two of them alike."""
    return _numbered(_CONDITIONS)


def _numbered(forms: Sequence[str]) -> str:
    blocks = []
    for number in range(500):
        names = f"name{number}", f"sum{number}"
        steps = [form.format(number, *names) for form in forms]
        blocks.append("\n".join([f"## Playbook{number}", "", "### Steps", *steps, ""]))
    return "\n".join(["# Short", "", *blocks])


_SHORT = (
    "- Tell the user that {0} is enough",
    "- Ask the user for ${1}",
    "- Set ${2} to {0} + 1",
    "- If ${2} > {0}",
    "  - Say that it is more than {0}",
    "- Wait for the user",
    "- Return ${2}",
)

_CONDITIONS = (
    "- If ${1} is {0} or more and ${2} is not empty, say that it is {0}",
    '- If ${1} is "a{0}" or "b", set ${2} to ${2} + 1',
    "- If the length of ${1} is between {0} and 9999, tell the user that {0} fits",
    "- If ${1} is at least {0}",
    "  - Say that it is more than {0}",
)


def _renamed(text: str, suffix: str) -> str:
    rows = text.split("\n---\n", 1)[-1].split("\n") if text.startswith("---") else text.split("\n")
    fenced, renamed = False, []
    for row in rows:
        fenced ^= row.startswith("```")
        name, colon, kind = row.partition(":")
        renamed.append(f"{name} {suffix}{colon}{kind}" if row.startswith("# ") and not fenced else row)
    return "\n".join(renamed)


def parsed(text: str) -> ParsedProgram:
    """From text to the syntax tree."""
    return parse(read_text(text, "program.pb"))


def lowered(tree: ParsedProgram) -> Program:
    """From the syntax tree to PBAsm, checked against its source."""
    return anyio.run(lambda: compile_parsed(tree, lowerer=RulesLowerer())).program


def speed(work: Callable[[], object], text: str) -> float:
    """Kilobytes of `text` in a second: the median of some rounds."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return len(text.encode()) / 1000 / statistics.median(taken)


def run() -> list[Row]:
    """Parse, lower, and read what was compiled, beside Markdown's own parser on the same text."""
    text = program_text()
    tree = parsed(text)
    pbasm = lowered(tree).pbasm
    markdown = MarkdownIt()
    size = f"{len(text.encode()) / 1000:.0f} kB"
    floor = speed(lambda: markdown.parse(text), text)
    compiled_floor = speed(lambda: markdown.parse(pbasm), pbasm)
    short = short_steps()
    short_tree = parsed(short)
    worded = conditions()
    worded_tree = parsed(worded)
    return [
        Row(f"parse a program of {size}", speed(lambda: parsed(text), text), "kB/s", floor, "markdown-it alone"),
        Row("lower it by rules", speed(lambda: lowered(tree), text), "kB/s", floor, "markdown-it alone"),
        Row("lower short steps by rules", speed(lambda: lowered(short_tree), short), "kB/s", target=">= 1,000 kB/s"),
        Row("lower conditions by rules", speed(lambda: lowered(worded_tree), worded), "kB/s"),
        Row(
            "read its PBAsm", speed(lambda: read(pbasm, "p.pbasm"), pbasm), "kB/s", compiled_floor, "markdown-it alone"
        ),
    ]


if __name__ == "__main__":
    print(show(run()))
