"""The options of a command line, from the signature of a program's entry."""

from typing import Any

import pytest

from gateway.programs.arguments import begun_by, entry_of, read_arguments
from runtime.core.errors import ProgramError
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program, TriggerKind
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

TWO = """# Desk

## Main($city:str, days:int = 3)
cli_entry: true
### Steps
- Tell the user about $city

## Other
### Triggers
- When program starts
### Steps
- End program

# Cook

## Begin
### Triggers
- When program starts
### Steps
- Think
"""


async def compiled(text: str) -> Program:
    return (await compile_parsed(parse(read_text(text, "p.pb")), lowerer=RulesLowerer())).program


async def values(signature: str, *words: str) -> dict[str, Any]:
    program = await compiled(f"# A\n\n## Main({signature})\ncli_entry: true\n### Steps\n- Think\n")
    return read_arguments("parley exec p.pb", entry_of(program)[1], words)


@pytest.mark.parametrize(
    ("signature", "words", "expected"),
    [
        ("$name:str", ["--name", "Ada"], {"name": "Ada"}),
        ("name", ["--name=Ada"], {"name": "Ada"}),
        ("$n:int", ["--n", "3"], {"n": 3}),
        ("n:int | None = None", ["--n", "3"], {"n": 3}),
        ("n:Optional[int] = None", ["--n", "3"], {"n": 3}),
        ("x:float", ["--x", "2.5"], {"x": 2.5}),
        ("loud:bool = False", ["--loud"], {"loud": True}),
        ("loud:bool = True", ["--no-loud"], {"loud": False}),
        ("tags:list[str]", ["--tags", '["a"]'], {"tags": ["a"]}),
        ("of:dict", ["--of", '{"a": 1}'], {"of": {"a": 1}}),
        ("order_id", ["--order-id", "7"], {"order_id": "7"}),
        ("order_id", ["--order_id", "7"], {"order_id": "7"}),
        ("count = 3", ["--count", "4"], {"count": 4}),
        ("count = 3", [], {}),
        ("when:date", ["--when", "2026-01-01"], {"when": "2026-01-01"}),
        ("", [], {}),
    ],
)
async def test_values_have_the_types_of_the_signature(
    signature: str, words: list[str], expected: dict[str, Any]
) -> None:
    assert await values(signature, *words) == expected


@pytest.mark.parametrize(
    ("signature", "words", "said"),
    [
        ("n:int", [], "the following arguments are required: --n"),
        ("n:int", ["--n", "three"], "invalid int value: 'three'"),
        ("x:float", ["--x", "nan"], "invalid float value: 'nan'"),
        ("tags:list", ["--tags", '{"a": 1}'], "invalid JSON list value"),
        ("n:int", ["--n", "1", "--m", "2"], "unrecognized arguments: --m 2"),
        ("", ["Ada"], "unrecognized arguments: Ada"),
        ("", ["--message", "hi"], "options of parley exec itself go before the program"),
    ],
)
async def test_wrong_words_end_with_code_2(
    signature: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        await values(signature, *words)
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert (said in shown.err, shown.out) == (True, "")


async def test_what_says_cli_entry_is_the_entry_and_else_the_first_that_begins_by_itself() -> None:
    assert entry_of(await compiled(TWO))[1].name == "Main"
    assert entry_of(await compiled(TWO.replace("cli_entry: true\n", "")))[1].name == "Other"
    with pytest.raises(ProgramError, match="has no entry: no playbook begins by itself"):
        entry_of(await compiled("# A\n\n## Main\n### Steps\n- Think\n"))
    with pytest.raises(ProgramError, match="has no entry: the triggers of Main wait for something"):
        entry_of(await compiled("# A\n\n## Main\n### Triggers\n- When the user says hello\n### Steps\n- Think\n"))


async def test_only_the_entry_of_its_agent_begins_with_its_arguments_and_ends_the_program() -> None:
    program = begun_by(await compiled(TWO.replace("# Desk", "# Cook2\n\n# Desk")), {"city": 'Oslo\'s "old" town'})
    assert [agent.name for agent in program.agents] == ["Desk", "Cook2", "Cook"]
    begins = [
        (agent.name, playbook.name)
        for agent in program.agents
        for playbook in agent.playbooks
        if any(trigger.kind is TriggerKind.BGN for trigger in playbook.triggers)
    ]
    assert begins == [("Desk", "MainByCommand"), ("Cook", "Begin")]
    source = program.agents[0].fences[-1].source
    assert "await Main(**{'city': 'Oslo\\'s \"old\" town'})" in source
    assert source.endswith("await EndProgram()\n")


async def test_percent_signs_and_parameters_that_are_called_like_options_do_no_harm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    signature = 'rate:str = "50%", help:str = "x", x:bool = True, no_x:int = 0'
    program = await compiled(f"# A\n\n## Main({signature})\ncli_entry: true\n100% %(prog)s %d\n### Steps\n- Think\n")
    entry = entry_of(program)[1]
    assert read_arguments("parley exec p.pb", entry, ["--no-x", "5", "--help", "me"]) == {"no_x": 5, "help": "me"}
    with pytest.raises(SystemExit):
        read_arguments("parley exec p.pb", entry, ["-h"])
    assert "100% %(prog)s %d" in (said := capsys.readouterr().out)
    assert "'50%' when left out" in said or '"50%" when left out' in said
