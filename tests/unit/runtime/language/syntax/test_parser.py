"""The parser survives everything, and keeps what the cases cannot show."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.language.compiler import compile_parsed
from runtime.language.diagnostics import ProgramRejected, Span
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read, write
from runtime.language.program import AgentKind, Param
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

_PIECES = st.sampled_from(
    [
        *(
            "# A",
            "# B:Human",
            "# ",
            "## Main",
            "## F($x:int=1) -> str",
            "## (",
            "### Steps",
            "### Triggers",
            "### Notes",
        ),
        *("- Ask the user", "  - If x", "    - JMP 01", "- Otherwise", "1. While y, do z", "-", "---", "metadata:"),
        *(
            "public: true",
            "  a: [1",
            "remote:",
            "```python",
            "@playbook",
            "def f(a, *, b=1): 'doc'",
            "```",
            "~~~",
            "<!--",
        ),
        *(
            "-->",
            "\t- tab",
            "- 01:QUE x",
            "- 02.01:JMP 09",
            "- T1:BGN x",
            "!import x.pb",
            "text {x}",
            "",
            "\0",
            "#!",
            "é",
        ),
        *("description: # B", "description: public: true", "- Go to step 7", "- <!-- x -->", "- RET", "@playbook([1])"),
    ]
)


def parsed(text: str) -> ParsedProgram:
    return parse(read_text(text, "program.pb"))


def first(text: str) -> ParsedAgent:
    return parsed(text).agents[0]


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for file in ("program.pb", "program.pbasm"):
        with contextlib.suppress(ProgramRejected):
            assert parse(read_text(text, file)).agents


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=25))
async def test_any_mixture_of_the_language_is_compiled_or_refused(rows: list[str]) -> None:
    try:
        result = await compile_parsed(parsed("\n".join(["# First", *rows])), lowerer=RulesLowerer())
    except ProgramRejected:
        return
    text = result.program.pbasm
    assert write(read(text, "again.pbasm")) == text


@given(st.lists(_PIECES, max_size=25))
def test_any_mixture_is_read_as_pbasm_or_refused(rows: list[str]) -> None:
    try:
        program = read("\n".join(["# First", *rows]), "program.pbasm")
    except ProgramRejected:
        return
    assert read(program.pbasm, "program.pbasm").pbasm == program.pbasm


def test_python_playbook_has_its_signature_description_and_place() -> None:
    agent = first(
        "# A\n\n```python\n@playbook(public=True, triggers=['When asked'])\n"
        'async def f(a: int, b: "str" = "x", *args, c: list[int] = [1]) -> float:\n'
        '    """Does it.\n\n    Well."""\n```\n'
    )
    playbook = agent.playbooks[0]
    assert playbook.kind == "python"
    assert playbook.params == (
        Param("a", type="int"),
        Param("b", type="'str'", default="'x'"),
        Param("c", type="list[int]", default="[1]"),
    )
    assert (playbook.returns, playbook.description, playbook.metadata) == ("float", "Does it.", {"public": True})
    assert playbook.span == Span("program.pb", 5, 1)
    assert playbook.triggers[0].span == Span("program.pb", 4, 34)


def test_signature_marks_parameters_of_state() -> None:
    playbook = first("# A\n## F($a:int, b = 'x$y') -> list[str]").playbooks[0]
    assert playbook.params == (Param("a", True, "int"), Param("b", False, None, "'x$y'"))
    assert playbook.returns == "list[str]"


def test_places_count_characters_not_bytes() -> None:
    with pytest.raises(ProgramRejected) as caught:
        parsed("# A\n## Größe($ä:int, $ä)")
    assert caught.value.diagnostics[0].span == Span("program.pb", 2, 18)


@pytest.mark.parametrize("title", ["café noir", "ÉtatCivil", "日本 語", "ﬁne Art", "straße", "ǆ x", "İstanbul"])
async def test_names_of_any_script_come_back_from_what_was_compiled(title: str) -> None:
    once = (await compile_parsed(parsed(f"# {title}\n\n## {title}\n- Think\n"), lowerer=RulesLowerer())).program
    again = read(once.pbasm, "again.pbasm")
    assert [again.agents[0].name, again.agents[0].playbooks[0].name] == [
        once.agents[0].name,
        once.agents[0].playbooks[0].name,
    ]


def test_names_of_any_script_are_names() -> None:
    assert [agent.name for agent in parsed("# Café Zürich\n# 助手").agents] == ["CaféZürich", "助手"]


def test_code_in_an_indented_fence_is_without_the_indentation() -> None:
    agent = first(
        "# A\n## Main\n### Steps\n- Greet the user\n  ```python\n  def f():\n      pass\n\n  ```\n- End program"
    )
    assert agent.fences[0].source == "def f():\n    pass\n"
    assert agent.fences[0].span == Span("program.pb", 6, 3)
    assert [step.text for step in agent.playbooks[0].steps] == ["Greet the user", "End program"]


def test_agent_with_a_remote_of_type_mcp_is_an_mcp_agent() -> None:
    assert first("# A\nremote:\n  type: mcp\n  url: https://x/mcp").kind is AgentKind.MCP


def test_source_of_an_agent_is_its_text() -> None:
    agents = parsed("x\n# A\none\n\n# B\n```python\n# C\n```\n").agents
    assert [agent.source for agent in agents] == ["# A\none\n", "# B\n```python\n# C\n```\n"]


def test_list_may_not_be_endlessly_deep() -> None:
    rows = "\n".join("  " * depth + "- If x" for depth in range(3000))
    with pytest.raises(ProgramRejected, match="20 levels"):
        parsed(f"# A\n## Main\n### Steps\n{rows}")


def test_python_too_deep_for_python_is_refused() -> None:
    with pytest.raises(ProgramRejected, match="not Python"):
        parsed(f"# A\n```python\nx = {'(' * 100_000}\n```")


def test_only_the_first_mistakes_are_told() -> None:
    with pytest.raises(ProgramRejected) as caught:
        parsed("# A\n" + "## ???\n" * 200)
    assert len(caught.value.diagnostics) == 50


async def test_prompts_are_a_list_of_messages_and_come_back_from_pbasm() -> None:
    prompts = ("What is open?", "Order: a cake")
    for written in ("['What is open?', 'Order: a cake']", "\n- What is open?\n- 'Order: a cake'"):
        text = f"# Shop\nprompts: {written}\n\nSells cakes.\n## Main\n### Steps\n- Greet the user\n"
        made = (await compile_parsed(parse(read_text(text, "shop.pb")), lowerer=RulesLowerer())).program
        assert made.agents[0].prompts == read(write(made), "shop.pbasm").agents[0].prompts == prompts
        assert made.agents[0].description == "Sells cakes."
    assert parse(read_text("# Shop\nprompts: Hello\n", "shop.pb")).agents[0].metadata["prompts"] == ["Hello"]
    with pytest.raises(ProgramRejected, match="`prompts` cannot be"):
        parse(read_text("# Shop\nprompts: [1, 2]\n", "shop.pb"))
