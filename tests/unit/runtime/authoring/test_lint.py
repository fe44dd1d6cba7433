"""The lint as a whole: how much it says, and where it points. What it finds is in the cases of the language."""

import pytest

from runtime.authoring.names import OFFERED_IN_PYTHON
from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read as parse_pbasm
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.playbooks.python import AgentModule

MAIN = "# A\n\n## Main\ncli_entry: true\n"


async def compiled(text: str) -> CompileResult:
    return await compile_parsed(parse(read_text(text, "p.pb")), lowerer=RulesLowerer())


async def test_only_the_first_hundred_warnings_are_given() -> None:
    result = await compiled(MAIN + "".join(f"- Missing{n}()\n" for n in range(150)))
    found = lint(result.program, (), result.lines)
    assert len(found) == 100
    assert found[-1].message == "there is no playbook Missing99"


async def test_without_the_source_a_warning_stands_where_its_step_begins() -> None:
    result = await compiled(f"{MAIN}- Tell the user $nmae\n")
    [found] = lint(result.program, ())
    assert (found.span.line, found.span.column, found.source_line) == (5, 3, "")
    assert found.render().splitlines()[0] == "p.pb:5:3: warning: $nmae is read and never set"


async def test_a_word_on_a_later_line_of_its_step_is_found_there() -> None:
    result = await compiled(f"{MAIN}- Tell the user this,\n  and $nmae\n- Greet $nmae\n")
    [found] = lint(result.program, (), result.lines)
    assert (found.span.line, found.span.column, found.meant) == (6, 7, "$nmae")


async def test_a_word_in_an_imported_file_is_found_at_its_own_column(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("imports")
    (folder / "steps.pb").write_text("- Greet $nmae\n")
    program = parse(read_text(f"{MAIN}- If it rains\n  !import steps.pb\n", str(folder / "p.pb")))
    result = await compile_parsed(program, lowerer=RulesLowerer())
    [found] = lint(result.program, (), result.lines)
    assert (found.span.file, found.span.column) == (str(folder / "steps.pb"), 9)
    assert found.render().endswith("| - Greet $nmae\n    |         ^^^^^\n  Set it in a step before, or ask for it.")


@pytest.mark.parametrize(
    ("line", "column", "width", "carets"),
    [
        ("- Pay(amount=3", 3, 0, "  ^^^"),
        ("### Steps of it", 1, 0, "^^^^^^^^^^^^^^^"),
        ('x = "a text"', 5, 0, "    ^^^^^^^^"),
        ("日本 word", 1, 2, "^^^^"),
        ("\tword", 2, 0, " ^^^^"),
        ("ends here", 10, 0, "         ^"),
        ("a ? b", 3, 0, "  ^"),
    ],
)
def test_carets_underline_what_is_meant(line: str, column: int, width: int, carets: str) -> None:
    shown = Diagnostic("m", Span("f", 1, column), line, width=width).render().splitlines()[-1]
    assert shown.partition("| ")[2] == carets


def test_the_names_that_the_lint_knows_in_python_are_those_that_authors_code_is_given() -> None:
    agent = parse_pbasm("# A\n\n## P()\n### Steps\n- 01:RET\n", "p.pbasm").agents[0]
    given = vars(AgentModule(agent, {}))["_names"].keys() - SIGNATURES.keys() - {"__builtins__", "P"}
    assert given == set(OFFERED_IN_PYTHON)
