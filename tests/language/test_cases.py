"""The language by example: each case in cases/*.md is a program and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import ProgramRejected
from runtime.language.parser import parse
from runtime.language.pbasm import HEADER, read, write
from runtime.language.rules import RulesLowerer
from runtime.language.source import read_text

pytestmark = pytest.mark.anyio

CASES = Path(__file__).parent / "cases"
_BLOCK = re.compile(r"^~~~~(\S+)\n(.*?)\n~~~~$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A title, the program, and the blocks that follow it by their names."""

    title: str
    file: str
    program: str
    expected: dict[str, str]


def cases() -> list[Case]:
    found = []
    for path in sorted(CASES.glob("*.md")):
        for part in re.split(r"\n(?=## [^\n]+\n\n~~~~)", path.read_text(encoding="utf-8"))[1:]:
            blocks = _BLOCK.findall(part)
            kind, program = blocks[0]
            file = {"pb": "program.pb", "pbasm-source": "program.pbasm"}[kind]
            title = f"{path.stem}: {part.splitlines()[0][3:]}"
            found.append(Case(title, file, program.strip("\n") + "\n", dict(blocks[1:])))
    return found


async def compiled(case: Case) -> CompileResult:
    return await compile_parsed(parse(read_text(case.program, case.file)), lowerer=RulesLowerer())


@pytest.mark.parametrize("case", [c for c in cases() if "pbasm" in c.expected], ids=lambda c: c.title)
async def test_program_becomes_this_pbasm(case: Case) -> None:
    result = await compiled(case)
    assert result.program.pbasm.replace(f"{HEADER}\n\n", "", 1).strip() == case.expected["pbasm"]
    unclassified = "\n".join(f"{note.span.line}: {note.text}" for note in result.report.unclassified)
    assert unclassified == case.expected.get("unclassified", "")


@pytest.mark.parametrize("case", [c for c in cases() if "pbasm" in c.expected], ids=lambda c: c.title)
async def test_pbasm_read_and_written_again_is_the_same(case: Case) -> None:
    text = (await compiled(case)).program.pbasm
    assert write(read(text, "again.pbasm")) == text


@pytest.mark.parametrize("case", [c for c in cases() if "errors" in c.expected], ids=lambda c: c.title)
async def test_program_is_refused_with_these_errors(case: Case) -> None:
    with pytest.raises(ProgramRejected) as caught:
        await compiled(case)
    rows = [row.rstrip() for row in str(caught.value).splitlines()]
    assert rows == [row.rstrip() for row in case.expected["errors"].splitlines()]


def test_every_case_expects_something() -> None:
    assert len(cases()) >= 40
    assert [case.title for case in cases() if not ({"pbasm", "errors"} & case.expected.keys())] == []
