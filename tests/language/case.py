"""The cases in cases/*.md: a program each, and what becomes of it.

A case is a `## title` and blocks between lines of `~~~~`. The first block is the program: `pb`, or `pbasm-source` for a
.pbasm file; `file NAME` are further files beside it. What is expected of it stands in the others: `ast`, `pbasm`,
`unclassified`, `errors`, `warnings`, and with `model`, the replies of a scripted model between lines of `---`,
`talk`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from runtime.language.pbasm.notation import signature
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram

CASES = Path(__file__).parent / "cases"
PROGRAMS = {"pb": "program.pb", "pbasm-source": "program.pbasm"}

_BLOCK = re.compile(r"^~~~~(\S+)(?: (\S+))?\n(.*?)\n?^~~~~$", re.DOTALL | re.MULTILINE)
_CASE = re.compile(r"\n(?=## [^\n]+\n\n(?:[^#~\n][^\n]*\n+)*~~~~(?:pb|pbasm-source)\n)")


@dataclass(frozen=True)
class Case:
    """A title, the program, the files beside it, and the blocks of what is expected by their names."""

    title: str
    file: str
    program: str
    expected: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)


def read_cases() -> list[Case]:
    """All cases, file by file in order."""
    found = []
    for path in sorted(CASES.glob("*.md")):
        for part in _CASE.split("\n" + path.read_text(encoding="utf-8"))[1:]:
            blocks = _BLOCK.findall(part)
            kind, _, program = blocks[0]
            files = {name: f"{text}\n" for block, name, text in blocks if block == "file"}
            expected = {block: text for block, _, text in blocks[1:] if block != "file"}
            title = f"{path.stem}: {part.splitlines()[0][3:]}"
            found.append(Case(title, PROGRAMS[kind], program.strip("\n") + "\n", expected, files))
    return found


def tree(parsed: ParsedProgram) -> str:
    """A syntax tree as text: a node a line, with the number of its line in the source."""
    rows: list[str] = []
    for agent in parsed.agents:
        rows += [f"agent {agent.name}:{agent.kind} @{agent.span.line}", *_below(agent)]
        rows += [f"  python @{fence.span.line}" for fence in agent.fences]
        for playbook in agent.playbooks:
            rows += [f"  {playbook.kind} {signature(playbook)} @{playbook.span.line}"]
            rows += [f"  {row}" for row in _below(playbook)]
            for name, items in (("trigger", playbook.triggers), ("step", playbook.steps), ("note", playbook.notes)):
                rows += [row for item in items for row in _item(name, item, 4)]
    return "\n".join(rows)


def _below(node: ParsedAgent | ParsedPlaybook) -> list[str]:
    rows = [f"  {key} = {value!r}" for key, value in node.metadata.items()]
    return rows + [f"  | {row}".rstrip() for row in node.description.splitlines()]


def _item(name: str, item: ListItem, indent: int) -> list[str]:
    rows = [f"{' ' * indent}{name} @{item.span.line}: {item.text}"]
    return rows + [row for child in item.children for row in _item(name, child, indent + 2)]
