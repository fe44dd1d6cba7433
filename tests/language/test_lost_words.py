"""Every word of a step that carries meaning is in an operand of one of its instructions, or the step is free with all
of its words: for sentences put together at random, and for every program of the tests and examples."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.instructions.decode import decode
from runtime.language.instructions.uses import operand_texts
from runtime.language.lowering.checks.lost_words import lost_words
from runtime.language.lowering.phrases import PBASM, plain
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Step
from runtime.language.syntax.nodes import ListItem, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths, read_text

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
