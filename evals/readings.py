"""The second reader on lines that were once misread: how many does a model name, and how many right lines does it
suspect?"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from gateway.programs.second_reader import Row, answer_to, named_in, request_text, requests_for
from runtime.events.happening import unheard
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.llm.client import LLMClient

TABLE = Path(__file__).with_name("readings.toml")
EXAMPLES = Path(__file__).parents[1] / "examples"
_TOGETHER = 8
"""The lines of the table in one request, each in a playbook of its own."""

_HEAD = """\
# Host
Leads a game and sells things.

## Pay($amount)
- Return $amount

## PB1
- Return 1

## Tasting
meeting: true
required_attendees: [Cook, Evaluator]
- Greet everybody

"""
_OTHERS = """
# Cook
Cooks.

## Cook($dish)
public: true
- Return $dish

# Evaluator
Tastes.

## Taste($dish)
public: true
- Return $dish
"""


class Misread(Struct, frozen=True):
    """A line with the reading that it once had, and the one that it has; "" where a model carries it out as it is
    written. `below` is a step below it."""

    fault: str
    line: str
    wrong: str
    right: str
    below: str = ""


def table(path: Path = TABLE) -> list[Misread]:
    """The lines of the table."""
    return [Misread(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["row"]]


class Asked(Struct, frozen=True):
    """The lines of one request, and those of them that have a wrong reading, by their numbers."""

    program: Program
    rows: Mapping[str, Sequence[Row]]
    wrong: Mapping[int, Misread]


async def read_now(rows: Sequence[Misread]) -> tuple[Program, list[list[Row]]]:
    """The lines as a program, each in a playbook of its own, and how each playbook's lines are read today."""
    text = _HEAD
    for number, row in enumerate(rows):
        below = f"  - {row.below}\n" if row.below else ""
        text += f"## Case{number:02}($n, $a, $b)\n- {row.line}\n{below}\n"
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.pb"
        file.write_text(text + _OTHERS, encoding="utf-8")
        program = (await compile_program([file], lowerer=RulesLowerer())).program
        found = {name: list(some) for request in requests_for(program) for name, some in request.items()}
    return program, [found.get(f"Host.Case{number:02}", []) for number in range(len(rows))]


async def requests() -> list[Asked]:
    """Each line of the table once with its wrong reading among right ones, and once with its right one among wrong
    ones; then the examples, which are read as they are meant."""
    rows = table()
    found: list[Asked] = []
    for start in range(0, len(rows), _TOGETHER):
        some = rows[start : start + _TOGETHER]
        program, now = await read_now(some)
        found += [_asked(program, some, now, parity) for parity in (0, 1)]
    for file in sorted(EXAMPLES.glob("*.pb")):
        example = (await compile_program([file], lowerer=RulesLowerer())).program
        found += [Asked(example, request, {}) for request in requests_for(example)]
    return found


def _asked(program: Program, rows: Sequence[Misread], now: Sequence[Sequence[Row]], parity: int) -> Asked:
    """Lines with every second one misread."""
    shown: dict[str, Sequence[Row]] = {}
    wrong: dict[int, Misread] = {}
    for number, (row, lines) in enumerate(zip(rows, now, strict=True)):
        below = [one for one in lines if one.step != "01"]
        if number % 2 == parity:
            wrong[sum(map(len, shown.values())) + 1] = row
            lines = [Row({}, "01", row.line, row.wrong), *below]
        shown[f"Host.Case{number:02}"] = lines
    return Asked(program, shown, wrong)


async def measure(model: LLMClient, requests: Sequence[Asked], tell: Callable[[str], None]) -> None:
    """Ask a model, and tell what it names."""
    named, wrong, suspected, right = 0, 0, 0, 0
    for asked in requests:
        text = request_text(asked.program, asked.rows)
        count = sum(map(len, asked.rows.values()))
        answer = await answer_to(text, model, asked.program.name, unheard)
        found = named_in(answer, count)
        lines = [row for some in asked.rows.values() for row in some]
        named += len(found.keys() & asked.wrong.keys())
        wrong += len(asked.wrong)
        suspected += len(found.keys() - asked.wrong.keys())
        right += count - len(asked.wrong)
        for number, row in asked.wrong.items():
            tell(f"{'named ' if number in found else 'missed'}  {row.fault:<5} {row.line} => {row.wrong}")
        for number in sorted(found.keys() - asked.wrong.keys()):
            line = lines[number - 1]
            tell(f"suspected     {line.words} => {line.does} ({found[number][:100]})")
    tell(f"{model.model}: {named} of {wrong} misread lines named, {suspected} of {right} right lines suspected")
