"""Any text at all is a program, or is refused with places; never a crash."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import Diagnostic, ProgramRejected
from runtime.language.instructions.decode import decode_playbook
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read, write
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text

PROGRAMS = sorted(path for path in (Path(__file__).parent / "programs").iterdir() if path.is_file())
TEXTS = [path.read_text(encoding="utf-8") for path in PROGRAMS]
PIECES = (
    *(
        "# ",
        "## ",
        "### Steps\n",
        "### Triggers\n",
        "- ",
        "  - ",
        "1. ",
        "\t",
        "\n",
        "\n\n",
        "---\n",
        "```",
        "```python\n",
    ),
    *(
        "<!--",
        "-->",
        "metadata:\n",
        "public: true\n",
        "remote:\n",
        "execution_mode: raw\n",
        "!import x.md\n",
        "$x",
        "$x:int = ",
    ),
    *(
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "`",
        "**",
        "_",
        ":",
        ", ",
        "If ",
        "Otherwise",
        "While ",
        "then ",
        "Find(",
        "A.Find(",
    ),
    *(
        "01:QUE ",
        "02.01:JMP 01",
        "T1:CND ",
        "N1 ",
        "YLD for user",
        "@playbook\n",
        "def f(): ...\n",
        "->",
        "日本",
        "\u200d",
        "\ufeff",
    ),
    *(
        "Ask the user ",
        "Tell Cook and Waiter ",
        "Go to step 1",
        "Return ",
        "# Cook:Human\n",
        "until ",
        "é",
        "\U0001f600",
        "\x0b",
        "\x85",
    ),
)

some_text = st.one_of(
    st.text(max_size=120),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)


@st.composite
def changed(draw: st.DrawFn) -> str:
    """A program that is right, of which a part is gone, doubled or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        text = text[:start] + draw(st.one_of(some_text, st.just(text[start:end] * 2))) + text[end:]
    return text


def taken(text: str, file: str) -> CompileResult | tuple[Diagnostic, ...]:
    """What becomes of a text: a program, or what is wrong with it."""
    try:
        return asyncio.run(compile_parsed(parse(read_text(text, file)), lowerer=RulesLowerer()))
    except ProgramRejected as rejected:
        return rejected.diagnostics


def check(text: str, file: str) -> None:
    found = taken(text, file)
    rows = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if isinstance(found, tuple):
        assert found
        said = found
    else:
        written = found.program.pbasm
        assert write(read(written, "again.pbasm")) == written
        if file.endswith(".pb"):
            again = taken(written, "again.pb")
            assert isinstance(again, CompileResult)
            assert again.program.pbasm == written
        for playbook in (playbook for agent in found.program.agents for playbook in agent.playbooks):
            decode_playbook(playbook)
        said = (*found.warnings, *lint(found.program, SIGNATURES, found.lines))
    for one in said:
        assert 1 <= one.span.line <= len(rows)
        assert 1 <= one.span.column <= len(rows[one.span.line - 1]) + 2
        assert one.message
        assert "Error(" not in one.render()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=some_text, file=st.sampled_from(["p.pb", "p.pbasm"]))
def test_any_text_is_a_program_or_is_refused_with_places(text: str, file: str) -> None:
    check(text, file)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=changed(), file=st.sampled_from(["p.pb", "p.pb", "p.pbasm"]))
def test_a_damaged_program_is_a_program_or_is_refused_with_places(text: str, file: str) -> None:
    check(text, file)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.binary(max_size=200))
def test_a_file_of_any_bytes_is_read_or_refused(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.pb"
    path.write_bytes(data)
    with contextlib.suppress(ProgramRejected):
        assert parse(read_paths([path])).agents
