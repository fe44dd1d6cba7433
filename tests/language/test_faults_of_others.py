"""Faults that other implementations of this language have: each is shown not to be here."""

import json
from pathlib import Path

import pytest

from runtime.language.compiler import CompileProgress, compile_parsed, compile_program, to_json
from runtime.language.diagnostics import ProgramRejected
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read
from runtime.language.program import AgentKind, AgentSpec, Program, TriggerKind
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text


def parsed(text: str, file: str = "p.pb") -> ParsedProgram:
    return parse(read_text(text, file))


def first(text: str) -> ParsedAgent:
    return parsed(text).agents[0]


async def program(text: str) -> Program:
    return (await compile_parsed(parsed(text), lowerer=RulesLowerer())).program


async def agent(text: str) -> AgentSpec:
    return (await program(text)).agents[0]


def refused(text: str, file: str = "p.pb") -> str:
    with pytest.raises(ProgramRejected) as caught:
        (read if file.endswith(".pbasm") else parsed)(text, file)
    return str(caught.value)


async def test_a_program_is_compiled_without_a_model_a_network_or_a_key() -> None:
    assert [step.op for step in (await agent("# A\n\n## Main\n- Greet the user\n")).playbooks[0].steps] == ["QUE"]


async def test_a_trigger_section_in_the_singular_is_not_lost() -> None:
    playbook = (await agent("# A\n\n## Main\n### Trigger\n- When program starts\n### Steps\n- Think\n")).playbooks[0]
    assert [trigger.kind for trigger in playbook.triggers] == [TriggerKind.BGN]


def test_a_section_that_is_misspelt_is_not_ignored() -> None:
    assert "Did you mean ### Steps?" in refused("# A\n\n## Main\n### Setps\n- Think\n")


async def test_a_section_of_another_name_is_kept_as_prose() -> None:
    assert "### Tone\nDry." in (await agent("# A\n\n## Main\nTalk.\n### Tone\nDry.\n")).playbooks[0].description


async def test_a_name_with_parentheses_or_of_another_script_is_a_name() -> None:
    agents = (await program("# Tax (US)\n\n# café noir\n")).agents
    assert [one.name for one in agents] == ["TaxUs", "CaféNoir"]


def test_an_annotation_as_remote_without_a_server_does_nothing_silently() -> None:
    assert "an MCP agent needs to know where its server is" in refused("# A:MCP\nTools.\n")


async def test_a_server_makes_a_remote_agent_with_or_without_the_annotation() -> None:
    remote = "remote:\n  type: mcp\n  url: https://example.org/mcp\n"
    agents = (await program(f"# A:MCP\n{remote}# B\n{remote}")).agents
    assert [one.kind for one in agents] == [AgentKind.MCP, AgentKind.MCP]


async def test_both_spellings_of_the_modes_are_taken() -> None:
    modes = ("react", "iterative", "raw", "single-shot")
    text = "# A\n" + "".join(f"\n## P{n}\nexecution_mode: {mode}\nDo it.\n" for n, mode in enumerate(modes))
    assert [playbook.mode for playbook in (await agent(text)).playbooks] == ["react", "react", "raw", "raw"]


async def test_a_playbook_without_steps_is_react_and_one_with_steps_is_not() -> None:
    found = (await agent("# A\n\n## P\nDo it.\n\n## Q\n- Think\n")).playbooks
    assert [playbook.mode for playbook in found] == ["react", "playbook"]


async def test_a_step_may_have_more_than_one_list_below_it() -> None:
    text = "# A\n\n## Main\n- If $x\n  - Think\n\n  * Decide\n- Return\n"
    assert [step.line for step in (await agent(text)).playbooks[0].walk_steps()] == ["01", "01.01", "01.02", "02"]


def test_text_among_the_steps_is_not_skipped() -> None:
    assert "found text outside the list" in refused("# A\n\n## Main\n### Steps\n- Think\n\nThen end.\n")


async def test_triggers_of_a_decorator_in_a_bare_list_or_a_text_are_not_lost() -> None:
    code = '@playbook(["When one"])\ndef a(): ...\n\n@playbook(triggers="When two")\ndef b(): ...\n'
    playbooks = (await agent(f"# A\n\n```python\n{code}```\n")).playbooks
    assert [trigger.text for playbook in playbooks for trigger in playbook.triggers] == ["When one", "When two"]


async def test_triggers_of_python_need_no_codes() -> None:
    playbooks = (await agent("# A\n```python\n@playbook(triggers=['When $x > 3'])\ndef a(): ...\n```\n")).playbooks
    assert [(trigger.code, trigger.kind) for trigger in playbooks[0].triggers] == [("T1", TriggerKind.CND)]


def test_metadata_of_pbasm_is_read_also_behind_the_description() -> None:
    metadata = read("# A\nSells.\nmetadata:\n  startup_mode: standby\n---\n", "p.pbasm").agents[0].metadata
    assert metadata == {"startup_mode": "standby"}


def test_an_agent_without_public_playbooks_does_not_shift_the_others() -> None:
    text = (
        "# A\n\n## P()\n\n```public.json\n[]\n```\n\n# B\n\n## Q()\nmetadata:\n  public: true\n---\n\n"
        '```public.json\n[{"name": "Q"}]\n```\n'
    )
    agents = read(text, "p.pbasm").agents
    assert [[playbook.public for playbook in one.playbooks] for one in agents] == [[False], [True]]


def test_an_entry_that_only_the_json_of_older_compilers_names_is_the_entry() -> None:
    text = '# A\n\n## P()\n\n## Q()\n\n```public.json\n[{"name": "Q", "cli_entry": true}, 3]\n```\n'
    entry = read(text, "p.pbasm").entry
    assert entry is not None
    assert entry[1].name == "Q"


async def test_export_is_not_parsed_and_then_forgotten() -> None:
    assert (await agent("# A\n\n## P\nexport: true\n- Think\n")).playbooks[0].public


def test_the_older_yield_without_its_preposition_is_read() -> None:
    steps = read("# A\n\n## P()\n- 01:QUE Say(Hi); YLD user\n- 02:YLD call\n", "p.pbasm").agents[0].playbooks[0].steps
    assert [step.text for step in steps] == ["Say(Hi); YLD for user", "for call"]


def test_a_jump_or_a_code_that_does_not_exist_is_refused_when_it_is_read() -> None:
    assert "which does not exist" in refused("# A\n\n## P()\n- 01:JMP 99\n", "p.pbasm")
    assert "there is no operation FOO" in refused("# A\n\n## P()\n- 01:FOO x\n", "p.pbasm")


def test_faulty_json_in_a_program_is_shown_with_its_place() -> None:
    assert refused("# A\n\n```public.json\n[{]\n```\n", "p.pbasm").startswith("p.pbasm:4:3: error: this is not JSON")


def test_all_mistakes_are_told_at_once_and_not_only_the_first() -> None:
    text = refused("# A:Robot\n\n## Main(\n### Setps\n-\n")
    assert text.count(": error: ") == 4


async def test_source_beside_compiled_files_does_not_compile_those_again(tmp_path: Path) -> None:
    (tmp_path / "a.pbasm").write_text("# A\n\n## P()\n- 01:EXE as it is\n")
    (tmp_path / "b.pb").write_text("# B\n\n## P\n- Think\n")
    seen: list[CompileProgress] = []
    files = [tmp_path / "a.pbasm", tmp_path / "b.pb"]
    await compile_program(files, lowerer=RulesLowerer(), on_progress=seen.append)
    assert [(one.agent, one.how) for one in seen] == [("A", "given"), ("B", "compiled")]


async def test_a_cached_compilation_is_not_taken_for_another_model(tmp_path: Path) -> None:
    class Other(RulesLowerer):
        @property
        def fingerprint(self) -> str:
            return "another model"

    (tmp_path / "a.pb").write_text("# A\n\n## P\n- Think\n")
    seen: list[CompileProgress] = []
    for lowerer in (RulesLowerer(), RulesLowerer(), Other()):
        await compile_program(
            [tmp_path / "a.pb"], lowerer=lowerer, cache_dir=tmp_path / "cache", on_progress=seen.append
        )
    assert [one.how for one in seen] == ["compiled", "cached", "compiled"]


async def test_an_import_in_pbasm_is_text_and_one_from_the_network_is_refused() -> None:
    assert read("# A\n!import x.pb\n", "p.pbasm").agents[0].description == "!import x.pb"
    assert "not from the network" in refused("# A\n!import http://example.org/x.pb\n")


def test_two_entries_for_the_command_line_are_refused_with_both_places() -> None:
    text = refused("# A\n\n## P\ncli_entry: true\n- Think\n\n## Q\ncli_entry: true\n- Think\n")
    assert "p.pb:7:4: error: a program has one entry for the command line, and it is P, at p.pb:3:4" in text


async def test_a_playbook_that_begins_does_not_become_public_by_that() -> None:
    playbook = (await agent("# A\n\n## P\n### Triggers\n- When program starts\n### Steps\n- Think\n")).playbooks[0]
    assert not playbook.public


async def test_python_comes_out_byte_for_byte() -> None:
    code = "x = 1   \n\ndef f():\n\treturn '''\n  a'''  # é\n"
    assert (await agent(f"# A\n\n```python\n{code}```\n")).fences[0].source == code.rstrip("\n")


async def test_an_unknown_program_text_is_never_executed_while_it_is_compiled() -> None:
    text = "# A\n\n```python\nraise SystemExit('executed')\n```\n"
    assert (await agent(text)).fences[0].source.startswith("raise")


async def test_the_whole_program_is_there_as_json_for_tools() -> None:
    plain = to_json(await program("# A\n\n## P($x:int = 1)\ncli_entry: true\n- Greet $x\n"))
    assert json.loads(json.dumps(plain))["agents"][0]["playbooks"][0]["params"][0]["type"] == "int"
