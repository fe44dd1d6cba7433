"""Programs whose steps were judged by hand, and what the product does with each of them, in a few words:
`free` for those below one that is free."""

from collections.abc import Callable, Iterator
from pathlib import Path

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
    Leave,
    Loop,
    Meaning,
    Return,
    Set,
    StepGroup,
    VariableTarget,
    Wait,
)
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

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


def rows(file: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of a file, each with its lines: a step, and what it means."""
    for section in file.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = section.splitlines()
        yield title, [(said, means) for said, _, means in (line.rpartition(" => ") for line in lines) if said]


async def done_otherwise(
    file: Path,
    around: Callable[[str], tuple[str, str]] = lambda _: (_HEAD, _TAIL),
    done_by: Callable[[list[Instruction]], str] | None = None,
) -> list[tuple[str, str]]:
    """The steps of a file with which the product does something else than people read there, each with that. `around`
    is what stands before and behind the steps of a section, `done_by` says what instructions do."""
    wrong: list[tuple[str, str]] = []
    for title, steps in rows(file):
        head, tail = around(title)
        source = f"{head}{chr(10).join(said for said, _ in steps)}{tail}"
        result = await compile_parsed(parse(read_text(source, f"{title}.pb")), lowerer=RulesLowerer())
        done: dict[int, list[Instruction]] = {}
        for playbook in result.program.agents[0].playbooks:
            for step in playbook.walk_steps():
                done.setdefault(step.span.line, []).append(decode(step))
        for number, (said, means) in enumerate(steps, len(head.splitlines()) + 1):
            found = (done_by or _done)(done[number]) if number in done else "free"
            wrong += [(f"- {said.strip(' -')}", found)] if found != means else []
    return sorted(wrong)


def does(part: Meaning) -> str:
    """What an instruction does, in a few words: `$n += 1`, `$n: words`, `ask $n`, `say`, `wait`, `free`."""
    match part:
        case Set(value=Expression() as value, operator=operator):
            return f"{_names(part.variables)} {operator}= {in_symbols(value)}"
        case Set():
            return f"{_names(part.variables)}: words"
        case Ask(words=None):
            return "wait for words"
        case Ask():
            return f"ask {_names(part.wants)}".strip()
        case Call(name="Sleep", arguments=(length,)) if isinstance(length.value, Expression):
            return f"wait {in_symbols(length.value)}"
        case Call():
            return f"{_names((part.result,))} = {part.name}(…)" if part.result else f"{part.name}(…)"
        case Condition(test=test):
            return f"{part.side} {in_symbols(test)}" if isinstance(test, Expression) else f"{part.side}"
        case Loop():
            return _repeats(part)
        case _:
            return _goes(part)


def _repeats(loop: Loop) -> str:
    over = in_symbols(loop.over) if isinstance(loop.over, Expression) else "words"
    item = f" as ${loop.variable.name}" if loop.variable else ""
    most = f", at most {loop.at_most}" if loop.at_most else ""
    return f"{loop.kind} {over}{item}{most}{', body first' if loop.body_first else ''}"


def _goes(part: Meaning) -> str:
    match part:
        case Jump(test=None):
            return f"jump {part.line}"
        case Jump(test=test):
            said = in_symbols(test) if isinstance(test, Expression) else "words"
            return f"{'unless' if part.unless else 'if'} {said}; jump {part.line}"
        case Wait(sources=sources):
            return f"wait {', '.join(one.removeprefix('agent ') for one in sources)}".removesuffix(" user")
        case Leave():
            return "continue" if part.next_round else "break"
        case Return(value=None):
            return "return"
        case Return(value=value):
            return f"return {in_symbols(value)}" if isinstance(value, Expression) else "return words"
        case _:
            return type(part).__name__.lower()


def _names(variables: tuple[VariableTarget, ...]) -> str:
    return ", ".join(
        f"${one.name}{''.join(f'.{at}' if isinstance(at, str) else f'[{in_symbols(at)}]' for at in one.path)}"
        for one in variables
    )


def _done(instructions: list[Instruction]) -> str:
    parts = [part for one in instructions for part in one.parts if part != StepGroup("")]
    if not parts:
        return "go on"
    loops = isinstance(parts[0], Loop)
    return "; ".join(does(part) for part in parts if not (loops and isinstance(part, Jump)))
