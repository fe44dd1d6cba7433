"""Steps that set and change variables: forty programs judged by hand, and the corpus beside the grammar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.language.compiler import compile_parsed
from runtime.language.instructions.conditions.reading import in_symbols
from runtime.language.instructions.decode import decode
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import (
    Ask,
    Call,
    Condition,
    Instruction,
    Jump,
    Loop,
    Meaning,
    Set,
    Variable,
)
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.lowering.classifier import Classifier
from runtime.language.lowering.phrases import plain
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.lowering.scope import Reach
from runtime.language.program import Op
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text
from tests.language.case import read_cases
from tests.language.test_programs import EXAMPLES, PROGRAMS

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent / "changes"
_HEAD = "# Desk\nYou help.\n\n## Main\n### Triggers\n- When program starts\n### Steps\n"
_TAIL = """

```python
@playbook
async def CheckPin(pin: str) -> bool:
    return True

@playbook
async def FindUser(pin: str) -> str:
    return pin

@playbook
async def Read() -> int:
    return 3
```

# Stock
Stock.

## public: Get($name) -> int
### Steps
- Return 5

# Warehouse
A warehouse.

## public: Deliver($name) -> int
### Steps
- Return 5
"""


def rows(name: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of a file, each with its lines: a step, and what it means."""
    for section in (FOLDER / name).read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = section.splitlines()
        yield title, [(said, means) for said, _, means in (line.rpartition(" => ") for line in lines) if said]


def does(part: Meaning) -> str:
    """What an instruction does, in a few words: `$n += 1`, `$n: words`, `ask $n`, `say`, `free`."""
    match part:
        case Set(value=Expression() as value, operator=operator):
            return f"{_names(part.variables)} {operator}= {in_symbols(value)}"
        case Set():
            return f"{_names(part.variables)}: words"
        case Ask():
            return f"ask {_names(part.wants)}".strip()
        case Call():
            return f"{_names((part.result,))} = {part.name}(…)" if part.result else f"{part.name}(…)"
        case Condition(test=test):
            return f"{part.side} {in_symbols(test)}" if isinstance(test, Expression) else f"{part.side}"
        case Loop(over=over):
            return f"{part.kind} {in_symbols(over)}" if isinstance(over, Expression) else f"{part.kind} words"
        case _:
            return type(part).__name__.lower()


def _names(variables: tuple[Variable, ...]) -> str:
    return ", ".join(
        f"${one.name}{''.join(f'.{at}' if isinstance(at, str) else f'[{in_symbols(at)}]' for at in one.path)}"
        for one in variables
    )


def _done(instructions: list[Instruction]) -> str:
    parts = [part for one in instructions for part in one.parts]
    loops = isinstance(parts[0], Loop)
    return "; ".join(does(part) for part in parts if not (loops and isinstance(part, Jump)))


async def test_forty_programs_mean_what_people_read_but_for_a_table_that_only_gets_shorter() -> None:
    wrong: list[tuple[str, str]] = []
    for title, steps in rows("programs.md"):
        source = f"{_HEAD}{chr(10).join(said for said, _ in steps)}{_TAIL}"
        result = await compile_parsed(parse(read_text(source, f"{title}.pb")), lowerer=RulesLowerer())
        done: dict[int, list[Instruction]] = {}
        for playbook in result.program.agents[0].playbooks:
            for step in playbook.walk_steps():
                done.setdefault(step.span.line, []).append(decode(step))
        for number, (said, means) in enumerate(steps, len(_HEAD.splitlines()) + 1):
            found = _done(done[number])
            wrong += [(f"- {said.strip(' -')}", found)] if found != means else []
    assert sorted(wrong) == sorted(dict(rows("disagreements.md"))["programs"])


def test_the_rules_do_with_each_step_of_the_corpus_what_the_grammar_reads_but_for_a_table() -> None:
    sources = [read_paths([path]) for path in (*EXAMPLES, *PROGRAMS)]
    sources += [
        read_text(case.program, case.file) for case in read_cases() if "pbasm" in case.expected and not case.files
    ]
    apart = {}
    for program in (parse(source) for source in sources):
        for agent in program.agents:
            rules = Classifier(Reach(agent, program))
            for item in (one for playbook in agent.playbooks for step in playbook.steps for one in step.walk()):
                if len(read := settings_of(plain(item.text))) == 1 and not read[0].in_words:
                    found = rules.classify(item.text)
                    called = found.op is Op.QUE and found.text.startswith(read[0].targets[0])
                    if not (found.known and (called or (found.op is Op.EXE and not found.after))):
                        apart[f"- {item.text}"] = f"{found.op} {found.text}"
    assert sorted(apart.items()) == sorted(dict(rows("disagreements.md"))["corpus"])
