"""What any implementation of this language must do, and that the guides and examples are understood."""

import asyncio
import re
from pathlib import Path

import anyio
import pytest

from gateway.settings.tree import load
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk, talk_files
from gateway.talks.staging.stage import TalkStage, open_stage
from gateway.talks.talk import TalkScript
from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.diagnostics import ProgramRejected, Span
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read, signature
from runtime.language.placeholders import placeholders
from runtime.language.program import PlaybookSpec
from runtime.language.syntax.nodes import ParsedPlaybook
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import ProgramText, read_paths, read_text


def playbook(text: str) -> ParsedPlaybook:
    return parse(read_text(f"# A\n{text}\n", "p.pb")).agents[0].playbooks[0]


def compiled(*rows: str) -> PlaybookSpec:
    steps = "".join(f"- {row}\n" for row in rows)
    return read(f"# A\n\n## P()\n### Steps\n{steps}", "p.pbasm").agents[0].playbooks[0]


# -- signatures and the binding of defaults


@pytest.mark.parametrize(
    ("heading", "written"),
    [
        ("GetX", "GetX()"),
        ("GetX()", "GetX()"),
        ("GetX($a)", "GetX($a)"),
        ("GetX(a)", "GetX(a)"),
        ("GetX($a:int)", "GetX($a:int)"),
        ("GetX($a: int = 3)", "GetX($a:int = 3)"),
        ("GetX($a=3)", "GetX($a = 3)"),
        ('GetX($a="x, y")', 'GetX($a = "x, y")'),
        ("GetX($a='(')", "GetX($a = '(')"),
        ("GetX($a=-1.5)", "GetX($a = -1.5)"),
        ("GetX($a=None)", "GetX($a = None)"),
        ("GetX($a=[1, {'b': 2}])", "GetX($a = [1, {'b': 2}])"),
        ("GetX($a:list[int]=[])", "GetX($a:list[int] = [])"),
        ("GetX($a) -> str", "GetX($a) -> str"),
        ("GetX -> dict[str, int]", "GetX() -> dict[str, int]"),
        ("GetX($a, b, $c=1)", "GetX($a, b, $c = 1)"),
        ("Get the order status($order_id:str) -> dict", "GetTheOrderStatus($order_id:str) -> dict"),
        ("get_x($a)", "get_x($a)"),
    ],
)
def test_a_signature_is_read_as_it_is_written(heading: str, written: str) -> None:
    assert signature(playbook(f"## {heading}")) == written


def test_a_parameter_with_a_dollar_is_of_the_state_and_one_without_is_local() -> None:
    params = playbook("## P($a, b)").params
    assert [(param.name, param.state, param.default) for param in params] == [("a", True, None), ("b", False, None)]


# -- expressions


@pytest.mark.parametrize(
    ("said", "code", "variables"),
    [
        ("$x", "x", ("x",)),
        ("$x + $y * $x", "x + y * x", ("x", "y")),
        ("$order['id']", "order['id']", ("order",)),
        ("$order.items[0].name", "order.items[0].name", ("order",)),
        ("$x if $y else None", "x if y else None", ("x", "y")),
        ("f($x, y=$y)", "f(x, y=y)", ("x", "y")),
        ("'$x' + $x", "'$x' + x", ("x",)),
        ("[$x for _ in range(3)]", "[x for _ in range(3)]", ("x",)),
        ("$a_b1", "a_b1", ("a_b1",)),
        ("not $x", "not x", ("x",)),
        ("lambda: $x", "lambda: x", ("x",)),
        ("$x == 'a' and $y > 3", "x == 'a' and y > 3", ("x", "y")),
    ],
)
def test_an_expression_is_python_with_dollars(said: str, code: str, variables: tuple[str, ...]) -> None:
    if "'$x'" in said:
        variables = ("x",)
    (found,) = placeholders(f"before {{{said}}} after")
    assert (found.said, found.code, found.variables) == (said, code, variables)


# -- step lines and their graph


@pytest.mark.parametrize(
    ("row", "line", "op", "text"),
    [
        ("01:EXE do it", "01", "EXE", "do it"),
        ("1:EXE do it", "1", "EXE", "do it"),
        ("10:RET", "10", "RET", ""),
        ("01:QUE Say(user, a: b); YLD for user", "01", "QUE", "Say(user, a: b); YLD for user"),
        ("01:CND If x:", "01", "CND", "If x:"),
        ("01:TNK   much", "01", "TNK", "much"),
        ("01:YLD agent 1001", "01", "YLD", "for agent 1001"),
        ("01:YLD for meeting 100", "01", "YLD", "for meeting 100"),
        ("01:ELS", "01", "ELS", ""),
    ],
)
def test_a_line_of_pbasm_has_number_code_and_text(row: str, line: str, op: str, text: str) -> None:
    step = compiled(row).steps[0]
    assert (step.line, step.op.value, step.text) == (line, op, text)


def test_steps_find_their_parents_by_their_numbers() -> None:
    spec = compiled("01:CND If a", "01.01:CND If b", "01.01.01:EXE c", "01.02:EXE d", "02:EXE e")
    assert [[child.line for child in step.children] for step in spec.walk_steps()] == [
        ["01.01", "01.02"],
        ["01.01.01"],
        [],
        [],
        [],
    ]
    found = spec.step("01.01.01")
    assert found is not None
    assert found.text == "c"
    assert spec.step("09") is None


# -- files and their imports


def lines(source: ProgramText) -> list[str]:
    return [line.text for line in source.lines]


def test_an_import_is_replaced_by_the_lines_of_its_file_with_its_indentation(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text("# A\n\t!import b.md\n    !import b.md # twice\nend\n")
    (tmp_path / "b.md").write_text("one\n\n  two\n\n")
    source = read_paths([tmp_path / "a.pb"])
    assert lines(source) == ["# A", "\tone", "", "\t  two", "    one", "", "      two", "end", ""]
    assert [line.span(line.content_column).line for line in source.lines] == [1, 1, 2, 3, 1, 2, 3, 4, 5]


def test_files_are_put_together_with_a_blank_line_between(tmp_path: Path) -> None:
    for name in ("b.pb", "a.pb"):
        (tmp_path / name).write_text(f"# {name[0]}")
    assert lines(read_paths([tmp_path / "*.pb"])) == ["# a", "", "# b"]


def test_an_import_may_be_ten_files_deep_and_no_deeper(tmp_path: Path) -> None:
    for n in range(12):
        (tmp_path / f"{n}.md").write_text(f"!import {n + 1}.md\n")
    (tmp_path / "12.md").write_text("end")
    (tmp_path / "a.pb").write_text("# A\n!import 3.md\n")
    assert "end" in lines(read_paths([tmp_path / "a.pb"]))
    (tmp_path / "b.pb").write_text("# A\n!import 2.md\n")
    with pytest.raises(ProgramRejected, match="deeper than 10 files"):
        read_paths([tmp_path / "b.pb"])


def test_a_file_of_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(b"# A\n" + b"x" * (1 << 20))
    with pytest.raises(ProgramRejected, match="too big"):
        read_paths([tmp_path / "a.pb"])


# -- the tree


def test_every_node_knows_the_file_and_line_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_text("# A\n\n!import b.md\n\n## Q\n- Think\n")
    (tmp_path / "b.md").write_text("## P\n### Steps\n- Think\n  - Decide\n")
    agent = parse(read_paths([tmp_path / "a.pb"])).agents[0]
    places = [playbook.steps[0].span for playbook in agent.playbooks]
    assert places == [Span(str(tmp_path / "b.md"), 3, 3), Span(str(tmp_path / "a.pb"), 6, 3)]
    assert agent.playbooks[0].steps[0].children[0].span == Span(str(tmp_path / "b.md"), 4, 5)


@pytest.mark.parametrize(
    ("below", "metadata", "description"),
    [
        ("Prose.", {}, "Prose."),
        ("metadata:\n  public: true\n---\nProse.", {"public": True}, "Prose."),
        ("metadata:\n  public: true\n---", {"public": True}, ""),
        ("metadata:\n---\nProse.", {}, "Prose."),
        ("public: true\nProse.\nhidden: true", {"public": True, "hidden": True}, "Prose."),
        ("One.\n\n\n\nTwo.", {}, "One.\n\nTwo."),
        ("One.\n\n---\n\nTwo.", {}, "One.\n\nTwo."),
        ("The metadata: is here.", {}, "The metadata: is here."),
        ("public: true  # really", {"public": True}, ""),
        ("description: Short.", {}, "Short."),
    ],
)
def test_metadata_and_description_are_told_apart(below: str, metadata: dict[str, object], description: str) -> None:
    found = playbook(f"## P\n{below}\n### Steps\n- Think")
    assert (found.metadata, found.description) == (metadata, description)


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


EXAMPLES = Path(__file__).parents[2] / "examples"
TALKS = Path(__file__).with_name("talks")


def test_every_example_has_talks() -> None:
    assert [one.name for one in EXAMPLES.glob("*.pb") if not one.with_suffix(".test.md").exists()] == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("file", talk_files([EXAMPLES, TALKS]), ids=lambda file: file.name)
def test_the_talks_of_a_program_pass(file: Path) -> None:
    found: list[str] = []

    async def hold(loaded: LoadedTalks, talk: TalkScript, stage: TalkStage) -> None:
        result = await hold_talk(loaded, talk, stage, limit_s=110)
        found.extend(f"{one.line}: {one.expected}: {one.seen}" for one in result.differences if not one.fits)

    async def hold_all() -> None:
        loaded = await TalkLoader().load(file)
        patient = {"remote.connect_s": 100}  # a server of tools begins with an interpreter of its own
        settings = load(environment={}, directory=EXAMPLES, flags=patient)
        async with open_stage(settings) as stage, anyio.create_task_group() as tasks:
            for talk in loaded.talks:
                tasks.start_soon(hold, loaded, talk, stage)

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run(hold_all())
    assert found == []
