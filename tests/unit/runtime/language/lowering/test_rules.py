"""What holds of the rules whatever people write."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.authoring.program import lint
from runtime.execution.calls.table import SIGNATURES
from runtime.language.compiler import compile_parsed
from runtime.language.diagnostics import Diagnostic, ProgramRejected
from runtime.language.lowering.checks.lost_words import lost_words
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read
from runtime.language.program import OpCode, Program
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text

_SENTENCES = st.sampled_from(
    [
        *("Ask the user for their $name:str and $age", "Tell the user about $x", "Greet them", "Is it right?"),
        *("If $x > 3", "If so, tell the user", "Otherwise", "otherwise if $y then return 3", "Unless $z, end program"),
        *("While $x", "For each $item in $items", "Repeat until $done", "until the user is happy, ask again"),
        *("$n = 3", "$r:float = Find($n)", "$r = Other.Get(1)", "Set $q to Find(2)", "Find($n)", "Other.Get()"),
        *("Think hard", "Return $x", "Return", "End program", "Go to step 1", "Go back to step 9 if $x", "break"),
        *("Check note 1", "Wait for the user", "Wait for 3 minutes", "Wait for Other", "Ask Other for $k", "Find it"),
        *("Have a talk meeting with Other", "Invite Other to this meeting", "Leave meeting", "End meeting"),
        *("Start Other on $x in the background", "Wait for the task", "$r = Start Other.Get() in the background"),
        *("Frobnicate", "Ask for:", "Explain:", "QUE Say(user, hi)", "03:JMP 01", "JMP 77", "CND If x", "YLD user"),
        *("a; b, c and then d: e", "Say('it')", "- dash", "`code` {x} {{y}}", "`a` <b>", "é ü 日本", "EndProgram()"),
    ]
)
_ITEMS = st.recursive(
    st.tuples(_SENTENCES, st.just(())),
    lambda inner: st.tuples(_SENTENCES, st.lists(inner, max_size=3).map(tuple)),
    max_leaves=12,
)
_REST = """
## Find($q:int) -> dict
- Return {}

## Talk
meeting: true
- Discuss

# Other

## Get($x = 1) -> str
public: true
- Return "x"
"""


def source(items: Sequence[tuple[str, Sequence[object]]]) -> str:
    """A program with these steps behind one in prose: a list that is PBAsm alone would be read strictly."""
    return f"# First\n\n## Main\n### Steps\n- Begin\n{_rows(items, 0)}### Notes\n- Be kind\n{_REST}"


def _rows(items: Sequence[object], depth: int) -> str:
    text = ""
    for item in items:
        assert isinstance(item, tuple)
        text += f"{'  ' * depth}- {item[0]}\n{_rows(item[1], depth + 1)}"
    return text


async def lowered(text: str) -> Program:
    return (await compile_parsed(parse(read_text(text, "p.pb")), lowerer=RulesLowerer())).program


@settings(max_examples=150, deadline=None)
@given(st.lists(_ITEMS, min_size=1, max_size=6))
async def test_no_step_is_lost_and_none_is_invented(items: list[tuple[str, Sequence[object]]]) -> None:
    text = source(items)
    parsed = parse(read_text(text, "p.pb")).agents[0].playbooks[0]
    main = (await lowered(text)).agents[0].playbook("Main")
    assert main is not None
    assert len(main.steps) == len(parsed.steps)
    steps = list(main.walk_steps())
    for item in (inner for outer in parsed.steps for inner in outer.walk()):
        at = [step for step in steps if step.span == item.span]
        assert at or any(item.text.rstrip(";") in step.text for step in steps)
    known = {inner.span for outer in parsed.steps for inner in outer.walk()}
    found = lint(await lowered(text), SIGNATURES)
    assert {one.severity for one in found if "no If" not in one.message} <= {"warning"}
    assert all(step.span in known for step in steps)
    assert all(step.op is OpCode.JMP or step.text or step.op is OpCode.RET or step.op is OpCode.ELS for step in steps)


_VERBS = ("Ask the user for", "Tell Other about", "Think about", "Find", "Return", "Wait for", "If there is", "Store")
_JOINTS = (" and ", ", then ", "; ", ". ", " if ", ", otherwise ", " until ", ": ", " unless ")
_NOUNS = ("zebra", "$quince", '"a ruby, red"', "Frobnicate the 77 gizmos", "Xylophone()", "the user's okra")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_VERBS), st.sampled_from(_NOUNS), st.sampled_from(_JOINTS)), max_size=4))
async def test_no_word_is_lost_however_clauses_are_joined(parts: list[tuple[str, str, str]]) -> None:
    said = "".join(f"{verb} {noun}{joint}" for verb, noun, joint in parts) + "end program"
    main = (await lowered(source([(said, ())]))).agents[0].playbook("Main")
    assert main is not None
    rows = [f"{step.op} {step.text}" for step in main.steps[1].walk()]
    assert lost_words(said, rows) == []


@settings(max_examples=100, deadline=None)
@given(st.lists(_ITEMS, min_size=1, max_size=6))
async def test_pbasm_as_a_source_is_lowered_to_itself(items: list[tuple[str, Sequence[object]]]) -> None:
    once = await lowered(source(items))
    twice = await lowered(once.pbasm)
    assert twice.pbasm == once.pbasm
    assert twice.digest == once.digest
    assert read(once.pbasm, "p.pbasm").pbasm == once.pbasm


@settings(max_examples=100, deadline=None)
@given(st.lists(_ITEMS, min_size=1, max_size=6))
async def test_the_same_source_gives_the_same_text(items: list[tuple[str, Sequence[object]]]) -> None:
    text = source(items)
    assert (await lowered(text)).pbasm == (await lowered(text)).pbasm


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.sampled_from(["p.pb", "p.pbasm", "p"]))
def test_any_bytes_are_a_program_or_refused_with_their_place(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"# A\n" + data)
    found: Sequence[Diagnostic] = ()
    try:
        assert parse(read_paths([path])).agents
    except ProgramRejected as refused:
        found = refused.diagnostics
    assert all(one.message and one.span.line >= 1 and one.span.column >= 1 for one in found)


_MARKDOWN = st.sampled_from(
    [
        *(
            "# H",
            "## H",
            "### H",
            "#### H",
            "Title\n===",
            "Title\n---",
            "> quote",
            "> - quoted",
            "| a | b |\n|---|---|",
        ),
        *("* a\n  * b\n\n    c", "1) a\n   1) b", "- [ ] task", "\tcode", "```\nx\n```", "~~~py\nx = 1\n~~~", "````"),
        *(
            "[a]: http://b",
            "![i](x)",
            "<div>\n# no\n</div>",
            "&amp; &#x41;",
            "**b** _i_ `c`",
            "line  \nbreak",
            "\\# no",
        ),
        *("---", "***", "___", "<!-- c\n# d -->", "<!---->", "<!-- <!-- -->", "[^1]: note", "$x$", "{{x}} {y}", "a: b"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_MARKDOWN, max_size=15), st.sampled_from(["\n", "\n\n", "\r\n"]))
async def test_any_markdown_is_compiled_or_refused(rows: list[str], between: str) -> None:
    with contextlib.suppress(ProgramRejected):
        program = await lowered("# A\n" + between.join(rows))
        assert read(program.pbasm, "p.pbasm").pbasm == program.pbasm


@pytest.mark.parametrize(
    "clause",
    [
        "keep $n{} as $m{}",
        "ask for $n{}",
        "and tell the user $n{}",
        "call F{}",
        "if $n{} say hi",
        "the $n{} and",
        "set $n{}",
    ],
)
async def test_a_sentence_of_many_clauses_is_read_in_proportion_to_them(clause: str) -> None:
    """Each comma might double the work: that would not end within the test."""
    said = ", ".join(clause.replace("{}", str(number)) for number in range(30))
    steps = f"- Ask the user for {said}\n- If $x, {said}\n- Tell the user to {said} and thank them\n"
    source = f"# A\n## Main\n### Steps\n{steps}"
    result = await compile_parsed(parse(read_text(source, "p.pb")), lowerer=RulesLowerer())
    assert len(result.program.agents[0].playbooks[0].steps) == 3
