"""Programs of every kind in programs/: each is read, lowered, and keeps all that its author wrote."""

import re
from pathlib import Path

import pytest

from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import CompileResult, compile_parsed, compile_program
from runtime.language.lowering.checks.lost_words import lost_words
from runtime.language.lowering.phrases import PBASM, plain
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read, write, write_agent
from runtime.language.program import PlaybookSpec
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text
from tests.fakes.ways import reached

PROGRAMS = sorted(path for path in (Path(__file__).parent / "programs").iterdir() if path.is_file())
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.pb"))

JUSTIFIED = {
    "05_loops.pb": ["$lessons is read and never set"],
    "26_imports.pb": ["Shared is the name of a built-in call"],
    "35_evaluator.pb": ["$cases is read and never set"],
}
"""What is to be said about these programs."""

each_program = pytest.mark.parametrize("path", [*PROGRAMS, *EXAMPLES], ids=lambda path: path.name)


async def compiled(path: Path) -> CompileResult:
    return await compile_program([path], lowerer=RulesLowerer())


async def playbooks(path: Path) -> list[PlaybookSpec]:
    return [playbook for agent in (await compiled(path)).program.agents for playbook in agent.playbooks]


@each_program
async def test_no_step_is_lost_and_each_is_at_its_line(path: Path) -> None:
    for agent in parse(read_paths([path])).agents:
        spec = (await compiled(path)).program.agent(agent.name)
        assert spec is not None
        for source in agent.playbooks:
            lowered = spec.playbook(source.name)
            assert lowered is not None
            places = {step.span for step in lowered.walk_steps()}
            assert len(lowered.steps) == len(source.steps)
            folded = {inner.span for item in source.steps for inner in item.walk()} - places
            assert all(_is_detail(source.steps, span.line) for span in folded)


@each_program
async def test_no_word_of_a_step_is_lost(path: Path) -> None:
    for agent in parse(read_paths([path])).agents:
        spec = (await compiled(path)).program.agent(agent.name)
        assert spec is not None
        for source in agent.playbooks:
            lowered = spec.playbook(source.name)
            assert lowered is not None
            for item, step in zip(source.steps, lowered.steps, strict=True):
                rows = [f"{inner.op} {inner.text}" for inner in step.walk()]
                said = [plain(inner.text) for inner in item.walk() if not PBASM.match(inner.text)]
                assert [word for text in said for word in lost_words(text, rows)] == []


def _is_detail(items: object, line: int) -> bool:
    """Whether the item at this line stands below one that ends with a colon."""
    assert isinstance(items, tuple)
    for item in items:
        inner = [below.span.line for child in item.children for below in child.walk()]
        if line in inner:
            return bool(item.text.endswith(":")) or _is_detail(item.children, line)
    return False


@each_program
async def test_programs_that_work_get_no_warning(path: Path) -> None:
    result = await compiled(path)
    found = [*result.warnings, *lint(result.program, SIGNATURES, result.lines)]
    assert [one.message for one in found if one.severity != "note"] == JUSTIFIED.get(path.name, [])


@each_program
async def test_compiled_text_read_and_written_again_is_the_same(path: Path) -> None:
    text = (await compiled(path)).program.pbasm
    assert write(read(text, "again.pbasm")) == text


@each_program
async def test_compiled_text_as_a_source_is_lowered_to_itself(path: Path) -> None:
    text = (await compiled(path)).program.pbasm
    again = parse(read_text(text, str(path.with_suffix(".pb"))))
    for agent in again.agents:
        lowered = await RulesLowerer().lower(agent, again)
        assert write_agent(lowered.spec) in text
        assert lowered.report.unclassified == ()


@each_program
async def test_every_step_can_be_reached(path: Path) -> None:
    for playbook in await playbooks(path):
        assert reached(playbook) == {step.line for step in playbook.walk_steps()}


async def test_the_rules_recognise_nearly_every_step() -> None:
    results = [await compiled(path) for path in PROGRAMS]
    unknown = [note.text for result in results for note in result.report.unclassified]
    agents = [agent for result in results for agent in result.program.agents]
    steps = [step for agent in agents for playbook in agent.playbooks for step in playbook.walk_steps()]
    assert len(unknown) <= len(steps) * 0.04, unknown


async def test_programs_of_every_kind_are_there() -> None:
    found = [(await compiled(path)).program for path in PROGRAMS]
    every = [playbook for program in found for agent in program.agents for playbook in agent.playbooks]
    assert len(PROGRAMS) >= 40
    assert {playbook.mode for playbook in every} == {"playbook", "react", "raw"}
    assert {agent.kind.value for program in found for agent in program.agents} >= {"AI", "Human", "MCP"}
    assert any(agent.standby for program in found for agent in program.agents)
    assert {"hidden", "meeting", "public"} <= {
        name for name in ("hidden", "meeting", "public") for playbook in every if getattr(playbook, name)
    }
    assert sum(any(p.metadata.get("cli_entry") for a in program.agents for p in a.playbooks) for program in found) >= 4


REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = "".join(
    f"{page.read_text()}\n" for page in sorted(REFERENCE.glob("*.md")) if page.name != "program-language.md"
)


def _examples_of_the_document() -> list[str]:
    fences = re.findall(r"^```markdown\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)
    return [fence if fence.startswith("# ") else f"# Example\n\n{_below_a_playbook(fence)}" for fence in fences]


def _below_a_playbook(fence: str) -> str:
    return fence if fence.startswith("## ") else f"## Main\n### Steps\n{fence}"


@pytest.mark.parametrize("text", _examples_of_the_document(), ids=lambda text: text.splitlines()[2][:30])
async def test_examples_of_the_document_are_right(text: str) -> None:
    name = "p.pbasm" if ":BGN" in text else "p.pb"
    result = await compile_parsed(parse(read_text(text, name)), lowerer=RulesLowerer())
    assert (result.report.unclassified, result.warnings) == ((), ())


def _python_of_the_document() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", _python_of_the_document(), ids=lambda code: code.strip().splitlines()[-1][:30])
def test_python_of_the_document_can_stand_in_a_program(code: str) -> None:
    agent = parse(read_text(f"# Example\n\n```python\n{code}```\n", "p.pb")).agents[0]
    assert agent.fences[0].source == code.rstrip("\n")
    assert len(agent.playbooks) == code.count("@playbook")


async def test_the_document_says_what_the_rules_make_of_steps() -> None:
    table = PAGES[PAGES.index("| you write | becomes |") :].partition("\n\n")[0]
    meeting = "## MenuMeeting\nmeeting: true\n- Privately tell Cook it is late\n\n"
    others = f"{meeting}## Find($q)\n- Return\n\n## GetOrderStatus\n- Return\n\n# Cook\n\n# Waiter\n"
    for row in table.splitlines()[2:]:
        steps = re.findall(r"`([^`]+)`", row.split("|")[1])
        below = "  - Think\n" if "`CND`" in row else ""
        sources = "".join(f"- {step}\n{below}" for step in steps if "Privately" not in step)
        program = f"# A\n\n## Main\n### Steps\n{sources or '- Think'}\n### Notes\n- a\n- b\n\n{others}"
        pbasm = (await compile_parsed(parse(read_text(program, "p.pb")), lowerer=RulesLowerer())).program.pbasm
        codes = set(re.findall(r"`(QUE|CND|JMP|RET|YLD|TNK|CHK|EXE)", row.split("|")[2]))
        assert codes <= set(re.findall(r"\d:([A-Z]{3})", pbasm)), row
