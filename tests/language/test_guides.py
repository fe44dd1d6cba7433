"""The programs of the guides are understood without a complaint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import compile_program
from runtime.language.lint.program import lint
from runtime.language.lowering.rules import RulesLowerer

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = [
    pytest.param(program, id=f"{page}-{number}")
    for page in ("getting-started.md", "tutorial.md", "reference/program-language.md")
    for number, program in enumerate(
        re.findall(r"^````markdown\n(.*?)^````$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL), 1
    )
]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_program_of_the_guides_is_understood_without_a_complaint(program: str, tmp_path: Path) -> None:
    path = tmp_path / "pizza.pb"
    path.write_text(program)
    result = await compile_program([path], lowerer=RulesLowerer())
    found = [*result.warnings, *lint(result.program, SIGNATURES, result.lines)]
    assert [one.message for one in found] == []
    assert result.report.unclassified == ()


def test_the_guides_have_programs() -> None:
    assert len(PROGRAMS) >= 5
