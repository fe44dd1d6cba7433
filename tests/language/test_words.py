"""Every word of a step counts, no step is taken for a broken one, and each complaint has its case."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.authoring.unfinished import unfinished_steps
from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import ProgramRejected
from runtime.language.instructions.decode import decode
from runtime.language.instructions.uses import operand_texts
from runtime.language.lowering.checks.lost_words import lost_words
from runtime.language.lowering.phrases import PBASM, plain
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Step
from runtime.language.syntax.nodes import ListItem, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import ProgramText, read_paths, read_text
from tests.language.case import read_cases

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in (Path(__file__).parent / "programs", ROOT / "examples", ROOT / "evals")
    for path in folder.rglob("*.pb")
)

VERBS = (
    *(
        "Ask the user",
        "Ask Cook",
        "Tell the user",
        "Tell Cook privately",
        "Greet",
        "Say",
        "Find",
        "Find order",
        "Return",
    ),
    *(
        "Set $x to",
        "Compute $sum as",
        "$y =",
        "Check",
        "Check whether",
        "Wait for",
        "If",
        "Unless",
        "Otherwise,",
        "While",
    ),
    *("For each", "Repeat", "Go to step 1 if", "Think about", "Keep asking until", "End the program", "Show", "Write"),
    *("Participate in the meeting while it is active; YLD for meeting;", "Pay", "Draft $mail", "Remember", "Add"),
)
OBJECTS = (
    *("", "the order", "$order", "for $name:str", "for $a and $b", "how many guests", '"It is done"', "“so; so”", "7"),
    *("that the blue van is late", "three times", "until it is valid", "to the user", "to Cook", "the menu", "them"),
    *(
        "in $orders",
        "at most 3 times",
        "up to 2 rounds",
        "(5, $x)",
        '(")")',
        "a) red b) green",
        "if so",
        "$x > 3",
        "twice",
    ),
    *(
        "with FindOrder($id)",
        "the user's velvet hat",
        "quickly",
        "alone",
        "5 minutes",
        "$order is empty",
        "for a rainy day",
    ),
)
JOINTS = ("", " and ", ", then ", "; ", ". ", ", ", " if ", " unless ", ": ", " & ", " until ", " or ")

sentences = st.lists(
    st.tuples(st.sampled_from(VERBS), st.sampled_from(OBJECTS), st.sampled_from(JOINTS)), min_size=1, max_size=3
).map(lambda parts: "".join(f"{verb} {thing}".strip() + joint for verb, thing, joint in parts).strip(" ,;:&"))


def compiled(parsed: ParsedProgram) -> CompileResult:
    return asyncio.run(compile_parsed(parsed, lowerer=RulesLowerer()))


def lost(item: ListItem, step: Step) -> list[str]:
    """The words of a step of the source that are in no operand of what was made of it."""
    rows = [f"{inner.op} {inner.text}" for inner in step.walk()]
    operands = [text for inner in step.walk() for text in operand_texts(decode(inner))]
    said = [plain(inner.text) for inner in item.walk() if not PBASM.match(inner.text)]
    return [word for text in said for word in lost_words(text, rows, operands)]


def lost_in(parsed: ParsedProgram) -> list[str]:
    found = []
    result = compiled(parsed)
    for agent in parsed.agents:
        spec = result.program.agent(agent.name)
        assert spec is not None
        for source in agent.playbooks:
            lowered = spec.playbook(source.name)
            assert lowered is not None
            for item, step in zip(source.steps, lowered.steps, strict=True):
                found += lost(item, step)
    return found


def program(sentence: str, below: str, *, meeting: bool) -> ParsedProgram:
    heading = "## Main\nmeeting: true\n" if meeting else "## Main\n"
    nested = f"  - {below}\n" if below else ""
    others = "## Find Order($id)\n- Return $id\n\n## Pay($sum)\n- Return $sum\n\n# Cook\n"
    return parse(read_text(f"# Desk\n\n{heading}- Think\n- {sentence}\n{nested}\n{others}", "p.pb"))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(sentence=sentences, below=st.one_of(st.just(""), sentences), meeting=st.booleans())
def test_no_word_of_a_sentence_put_together_at_random_is_lost(sentence: str, below: str, meeting: bool) -> None:
    assert lost_in(program(sentence, below, meeting=meeting)) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_no_word_of_a_program_is_missing_in_the_operands(path: Path) -> None:
    assert lost_in(parse(read_paths([path]))) == []


@pytest.mark.parametrize(
    ("said", "compiled_to"),
    [
        ("Tell the user the news", "QUE Say(user, Tell the user)"),
        ("Set $x to 3 and $y to 4", "EXE Set $x to 3"),
        ("If it rains or snows, wait", "CND If it rains"),
        ("Search the archive", "EXE"),
        ("Wait for Cook to finish the soup", "YLD for agent Cook"),
    ],
)
def test_words_that_are_in_no_operand_are_found(said: str, compiled_to: str) -> None:
    op, _, text = compiled_to.partition(" ")
    source = f"# A\n\n## Main\n- 01:{op} {text}\n  - 01.01:QUE Say(user, hello)\n"
    playbook = compiled(parse(read_text(source, "p.pb"))).program.agents[0].playbooks[0]
    assert lost(ListItem(said, playbook.span), playbook.steps[0])


def test_programs_are_there() -> None:
    assert len(PROGRAMS) > 60


SENTENCES = (
    "Tell the user that it's fine",
    "Tell the user about the pizza (the large one)",
    "Ask the user for a) their name, b) their age",
    'Say "It isn\'t done (yet)"',
    'Set $size to 12" at most',
    "Say that we are sorry :-(",
    "Say thanks ;)",
    "Ask the user what they're waiting for",
    "Choose a number in [0, 10)",
    "Set $grade to A+",
    "Ask the customers' names",
    "Say “don't panic”",
    "Find the order `(draft`",
)


def broken_off(source: ProgramText) -> list[str]:
    """What is said of its steps that break off."""
    parsed = parse(source)
    program = asyncio.run(compile_parsed(parsed, lowerer=RulesLowerer())).program
    return [
        found.diagnostic(parsed.lines).render()
        for agent in program.agents
        for playbook in agent.playbooks
        for found in unfinished_steps(playbook, parsed.lines)
    ]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_step_of_a_program_that_works_breaks_off(path: Path) -> None:
    assert broken_off(read_paths([path])) == []


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
    st.sampled_from((", then ", " and ", ". ", " (or not), ")),
)
@settings(max_examples=60, deadline=None)
def test_english_with_parentheses_and_apostrophes_is_whole(sentences: list[str], between: str) -> None:
    assert broken_off(read_text(f"# Clerk\n\n## Main\ncli_entry: true\n- {between.join(sentences)}\n", "p.pb")) == []


@pytest.mark.parametrize("end", [" (really", " [1, 2", ' {"a": 1', ' "yes', " and", " of it) or more"])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_same_english_is_seen_to_break_off(sentence: str, end: str) -> None:
    assert len(broken_off(read_text(f"# Clerk\n\n## Main\ncli_entry: true\n- {sentence}{end}\n", "p.pb"))) == 1


LANGUAGE = Path(__file__).parents[2] / "runtime" / "language"

_SAYS = frozenset({"at", "at_span", "warn", "_note", "Finding"})

_TOO_MUCH = {
    "a program may have 1,000 agents": "".join(f"# A{n}\n" for n in range(1001)),
    "this JSON is too deeply nested": "# A\n```public.json\n" + "[" * 100_000 + "]" * 100_000 + "\n```\n",
    "this YAML has more than 100,000 values": (
        "# A\nmetadata:\n  few: &few [" + "1," * 1_000 + "1]\n  x: [" + "*few, " * 100 + "]\n---\n"
    ),
    "this step has 5,000 characters, and a step may have 4,000": f"# A\n\n## M\n- Say {'x' * 4996}\n",
    "this step has more than 40 spaces in a row": f"# A\n\n## M\n- Say{' ' * 50}hello\n",
}
"""Texts of a size that no case has."""

_ELSEWHERE = frozenset({"no such file", "no file was given", "step Main:01 is left to a model: why"})
"""Said where there is no program, see the tests of the source, and of what the cases list as `unclassified`."""


def _messages() -> Iterator[str]:
    """What is said, as patterns: what differs from program to program matches anything."""
    for file in sorted(LANGUAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in _SAYS:
                yield from (_pattern(one) for one in node.args[1:2] if isinstance(one, ast.Constant | ast.JoinedStr))
            elif isinstance(node, ast.Call) and _name(node.func) == "_Misfit":
                yield from (_pattern(one) for one in node.args[:1] if isinstance(one, ast.Constant | ast.JoinedStr))
            elif isinstance(node, ast.Assign) and [_name(one) for one in node.targets] == ["message"]:
                yield from (_pattern(one) for one in [node.value] if isinstance(one, ast.Constant | ast.JoinedStr))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _pattern(text: ast.Constant | ast.JoinedStr) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+?" for part in parts)


def test_every_complaint_about_a_program_is_shown_by_a_case() -> None:
    cases = [text for case in read_cases() for kind, text in case.expected.items() if kind in ("errors", "warnings")]
    shown = "\n".join([*cases, *_TOO_MUCH, *_ELSEWHERE])
    messages = list(_messages())
    assert len(messages) > 50
    assert [message for message in messages if not re.search(message, shown)] == []


@pytest.mark.parametrize("complaint", _TOO_MUCH)
def test_what_is_too_much_is_refused_with_its_place(complaint: str) -> None:
    with pytest.raises(ProgramRejected) as refused:
        parse(read_text(_TOO_MUCH[complaint], "a.pb"))
    assert complaint in str(refused.value)
    assert "a.pb:" in str(refused.value)
