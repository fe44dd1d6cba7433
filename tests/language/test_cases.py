"""The language by example: each case in cases/*.md is a program and what becomes of it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import ProgramRejected
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Free, Prose, StepGroup
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import HEADER, read, write
from runtime.language.program import OpCode
from runtime.language.syntax.nodes import ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from tests.fakes.people.talk import Model, Reply, talking
from tests.language.case import Case, read_cases, tree

CASES = read_cases()
PEOPLE = ("Ada", "Bob")


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[MontySandbox]:
    """Real workers, the same for all cases."""
    async with MontySandbox(limits=SandboxLimits(feed_s=2.0)) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a case with several files is, and the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def having(*blocks: str) -> pytest.MarkDecorator:
    """The cases that expect this."""
    chosen = [case for case in CASES if any(block in case.expected for block in blocks)]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.title)


def parsed(case: Case, folder: Path) -> ParsedProgram:
    if not case.files:
        return parse(read_text(case.program, case.file))
    for name, text in {case.file: case.program, **case.files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return parse(read_paths([case.file]))


async def compiled(case: Case, folder: Path) -> CompileResult:
    return await compile_parsed(parsed(case, folder), lowerer=RulesLowerer())


@having("ast")
def test_program_is_read_as_this_tree(case: Case, folder: Path) -> None:
    assert tree(parsed(case, folder)) == case.expected["ast"]


@having("pbasm")
async def test_program_becomes_this_pbasm(case: Case, folder: Path) -> None:
    result = await compiled(case, folder)
    assert result.program.pbasm.replace(f"{HEADER}\n\n", "", 1).strip() == case.expected["pbasm"]
    unclassified = "\n".join(f"{note.span.line}: {note.text}" for note in result.report.unclassified)
    assert unclassified == case.expected.get("unclassified", "")


@having("unclassified")
async def test_what_stays_free_is_left_to_a_model(case: Case, folder: Path) -> None:
    result = await compiled(case, folder)
    free = {(note.line, note.span.line) for note in result.report.unclassified}
    playbooks = [playbook for agent in result.program.agents for playbook in agent.playbooks]
    steps = [step for one in playbooks for step in one.walk_steps() if (step.line, step.span.line) in free]
    parts = [part for step in steps for part in decode(step).parts]
    assert bool(steps) == bool(free)
    assert all(
        isinstance(getattr(part, "value", None), Prose) for part in parts if not isinstance(part, Free | StepGroup)
    )


@having("pbasm")
async def test_pbasm_read_and_written_again_is_the_same(case: Case, folder: Path) -> None:
    text = (await compiled(case, folder)).program.pbasm
    assert write(read(text, "again.pbasm")) == text


@having("errors")
async def test_program_is_refused_with_these_errors(case: Case, folder: Path) -> None:
    with pytest.raises(ProgramRejected) as caught:
        await compiled(case, folder)
    rows = [row.rstrip() for row in str(caught.value).splitlines()]
    assert rows == [row.rstrip() for row in case.expected["errors"].splitlines()]


@having("warnings")
async def test_program_gets_these_warnings(case: Case, folder: Path) -> None:
    result = await compiled(case, folder)
    found = [*result.warnings, *lint(result.program, SIGNATURES, result.lines)]
    assert "\n".join(one.render() for one in found) == case.expected["warnings"]


@having("talk")
async def test_program_talks_like_this(case: Case, folder: Path, sandbox: MontySandbox) -> None:
    program = (await compiled(case, folder)).program
    replies = [_reply(text.strip()) for text in _replies(case.expected.get("model", ""))]
    model, wanted, rows = Model(*replies), case.expected["talk"].splitlines(), []
    async with talking(program, model, sandbox) as talk:
        for person, _, said in (row.partition(": ") for row in wanted):
            if person not in PEOPLE:
                continue
            seen = len(talk.chat)
            await talk.say(said, name=person)
            rows.append(f"{person}: {said}")
            pairs = zip(talk.speakers[seen:], talk.chat[seen:], strict=True)
            rows += [f"{speaker}: {text}" for speaker, text in pairs]
        rows += ["(ended)"] * bool(talk.facts("ended"))
    assert rows == wanted
    assert model.left == 0


def _reply(text: str) -> Reply:
    """A reply of statements; one whose lines begin with `>` is text."""
    said = [row.removeprefix(">").removeprefix(" ") for row in text.splitlines() if row.startswith(">")]
    return Reply("\n".join(said) if said else f"```python\n{text}\n```")


def _replies(text: str) -> list[str]:
    return [reply for reply in re.split(r"^---$", text, flags=re.MULTILINE) if reply.strip()]


def test_there_are_cases_of_everything_and_each_expects_something() -> None:
    least = {"ast": 40, "pbasm": 60, "errors": 50, "talk": 15, "warnings": 25}
    counts = {kind: sum(kind in case.expected for case in CASES) for kind in least}
    assert len(CASES) >= 150
    assert all(counts[kind] >= number for kind, number in least.items()), counts
    assert [case.title for case in CASES if not least.keys() & case.expected.keys()] == []
    assert len({case.title for case in CASES}) == len(CASES)


def test_every_operation_is_shown() -> None:
    shown = "\n".join(case.expected.get("pbasm", "") for case in CASES)
    assert [op for op in OpCode if not re.search(rf":{op}\b", shown)] == []
