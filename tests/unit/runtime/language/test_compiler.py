"""From files to a program, with a cache."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runtime.core.errors import LLMUnavailable, ParleyError
from runtime.language import compiler
from runtime.language.compiler import CompileProgress, CompileResult, compile_program, to_json
from runtime.language.diagnostics import ProgramRejected, Span
from runtime.language.lowering.lowerer import LoweredAgent
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import OpCode
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from tests.fakes.ways import reached

EXAMPLES = Path(__file__).parents[4] / "examples"
GREETER = (
    "# Greeter\n\n## Main\n### Triggers\n- When program starts\n### Steps\n- Ask the user for a $name\n- End program\n"
)


@dataclass
class CountingLowerer:
    """The rules, counting; it can pretend to be another version, or to fail."""

    fingerprint: str = "one"
    agents: list[str] = field(default_factory=list)
    error: ParleyError | None = None

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> LoweredAgent:
        self.agents.append(source.name)
        if self.error is not None:
            raise self.error
        return await RulesLowerer().lower(source, program)


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def compiled(*paths: Path) -> CompileResult:
    return await compile_program(paths, lowerer=RulesLowerer())


async def test_hello_has_three_steps_and_ends() -> None:
    main = (await compiled(EXAMPLES / "hello.pb")).program.agents[0].playbooks[0]
    assert [f"{step.line}:{step.op} {step.text}"[:6] for step in main.steps] == ["01:QUE", "02:QUE", "03:YLD"]
    assert main.steps[2].text == "for exit"


@pytest.mark.parametrize("name", ["hello.pb", "order_helper.pb", "two_agents.pb"])
async def test_rules_know_every_step_of_the_examples(name: str) -> None:
    result = await compiled(EXAMPLES / name)
    assert result.report.unclassified == ()
    triggers = [trigger for playbook in result.program.agents[0].playbooks for trigger in playbook.triggers]
    assert "BGN" in {trigger.kind for trigger in triggers}


@pytest.mark.parametrize("name", ["hello.pb", "order_helper.pb", "two_agents.pb"])
async def test_every_step_of_the_examples_can_be_reached(name: str) -> None:
    for agent in (await compiled(EXAMPLES / name)).program.agents:
        for playbook in agent.playbooks:
            assert reached(playbook) == {step.line for step in playbook.walk_steps()}


async def test_places_are_those_of_the_source(tmp_path: Path) -> None:
    steps = "- While $x, tell the user\n  - Greet the user\n- End program\n"
    text = f"# A\n\n## Main\n### Steps\n{steps}### Triggers\n- At the beginning\n"
    path = file(tmp_path, "a.pb", text)
    main = (await compiled(path)).program.agents[0].playbooks[0]
    places = {step.line: (step.op, step.span.line, step.span.column) for step in main.walk_steps()}
    assert places == {
        "01": (OpCode.CND, 5, 3),
        "01.01": (OpCode.QUE, 5, 3),
        "01.02": (OpCode.QUE, 6, 5),
        "01.03": (OpCode.JMP, 5, 3),
        "02": (OpCode.YLD, 7, 3),
    }
    assert main.triggers[0].span == Span(str(path), 9, 3)


async def test_places_are_those_of_the_source_where_a_sentence_has_several_clauses(tmp_path: Path) -> None:
    steps = "- Look up the order; if it is late:\n  - Apologize to the user\n"
    main = (await compiled(file(tmp_path, "a.pb", f"# A\n\n## Main\n{steps}"))).program.agents[0].playbooks[0]
    places = {step.text: step.span.line for step in main.walk_steps()}
    assert places == {"": 4, "Look up the order": 4, "if it is late": 4, "Say(user, Apologize to the user)": 5}


async def test_places_are_those_of_the_source_where_a_jump_ends_a_list(tmp_path: Path) -> None:
    steps = "- Think\n- If so, tell the user\n  - Go to step 1\n- While $x\n  - Greet the user\n"
    result = await compiled(file(tmp_path, "a.pb", f"# A\n\n## Main\n{steps}"))
    places = [(step.line, step.span.line) for step in result.program.agents[0].playbooks[0].walk_steps()]
    assert places == [("01", 4), ("02", 5), ("02.01", 5), ("02.02", 6), ("03", 7), ("03.01", 8), ("03.02", 7)]


async def test_pbasm_passes_through_beside_source_in_the_order_given(tmp_path: Path) -> None:
    given = file(tmp_path, "b.pbasm", "# Beta\n\n## Main()\n### Steps\n- 07:EXE as it stands\n")
    source = file(tmp_path, "a.pb", GREETER)
    lowerer = CountingLowerer()
    seen: list[CompileProgress] = []
    result = await compile_program([given, source], lowerer=lowerer, on_progress=seen.append)
    assert [agent.name for agent in result.program.agents] == ["Beta", "Greeter"]
    assert "- 07:EXE as it stands\n" in result.program.pbasm
    assert lowerer.agents == ["Greeter"]
    assert [(p.agent, p.how, p.total) for p in seen] == [("Beta", "given", 2), ("Greeter", "compiled", 2)]


async def test_agents_that_are_compiled_are_counted_one_by_one(tmp_path: Path) -> None:
    files = [file(tmp_path, f"{name}.pb", f"# {name}\n\n## P\n- Think\n") for name in ("A", "B", "C")]
    for how in ("compiled", "cached"):
        seen: list[CompileProgress] = []
        await compile_program(files, lowerer=CountingLowerer(), cache_dir=tmp_path / "cache", on_progress=seen.append)
        assert [(p.how, p.done, p.total) for p in seen] == [(how, 1, 3), (how, 2, 3), (how, 3, 3)]


async def test_what_was_compiled_compiles_to_itself(tmp_path: Path) -> None:
    first = (await compiled(EXAMPLES / "order_helper.pb")).program
    again = (await compiled(file(tmp_path, "again.pbasm", first.pbasm))).program
    assert (again.pbasm, again.digest, again.name) == (first.pbasm, first.digest, "Order helper")


async def test_digest_follows_the_compiled_text(tmp_path: Path) -> None:
    one = (await compiled(file(tmp_path, "a.pb", GREETER))).program
    moved = (await compiled(file(tmp_path, "b.pb", "\n\n" + GREETER))).program
    other = (await compiled(file(tmp_path, "c.pb", GREETER.replace("$name", "$city")))).program
    assert one.digest == moved.digest != other.digest


async def test_cache_is_used_until_source_lowerer_or_the_code_that_reads_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = file(tmp_path, "a.pb", GREETER), tmp_path / "cache"
    lowerer = CountingLowerer()
    first = await compile_program([path], lowerer=lowerer, cache_dir=cache)
    second = await compile_program([path], lowerer=lowerer, cache_dir=cache)
    assert (len(lowerer.agents), second) == (1, first)
    lowerer.fingerprint = "two"
    await compile_program([path], lowerer=lowerer, cache_dir=cache)
    file(tmp_path, "a.pb", GREETER.replace("$name", "$city"))
    await compile_program([path], lowerer=lowerer, cache_dir=cache)
    assert len(lowerer.agents) == 3
    monkeypatch.setattr(compiler, "_READING", (".md",))
    compiler._reading.cache_clear()
    await compile_program([path], lowerer=lowerer, cache_dir=cache)
    compiler._reading.cache_clear()
    assert len(lowerer.agents) == 4


@pytest.mark.parametrize(("name", "before"), [("b.pb", ""), ("a.pb", "<!-- one\ntwo -->\n")])
async def test_a_cached_agent_is_never_at_a_place_that_it_has_left(tmp_path: Path, name: str, before: str) -> None:
    text, cache = f"{GREETER}- Frobnicate\n", tmp_path / "cache"
    await compile_program([file(tmp_path, "a.pb", text)], lowerer=RulesLowerer(), cache_dir=cache)
    moved = file(tmp_path, name, before + text)
    cached = await compile_program([moved], lowerer=RulesLowerer(), cache_dir=cache)
    assert cached == await compile_program([moved], lowerer=RulesLowerer())


async def test_a_program_that_gets_a_memory_is_compiled_anew(tmp_path: Path) -> None:
    cache, steps = tmp_path / "cache", "# A\n## Main\n### Steps\n- Remember that the user likes tea\n"
    found = [
        (await compile_program([file(tmp_path, "a.pb", text)], lowerer=RulesLowerer(), cache_dir=cache)).program.pbasm
        for text in (steps, f"---\nmemory: true\n---\n{steps}")
    ]
    assert ["Remember(" in pbasm for pbasm in found] == [False, True]


async def test_cache_keeps_what_was_not_recognised(tmp_path: Path) -> None:
    path = file(tmp_path, "a.pb", "# A\n## Main\n### Steps\n- Frobnicate\n")
    results = [await compile_program([path], lowerer=RulesLowerer(), cache_dir=tmp_path / "cache") for _ in range(2)]
    assert [note.text for result in results for note in result.report.unclassified] == ["Frobnicate"] * 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"pbasm": "# Other", "unclassified": []}', '{"unclassified": [1]}'])
async def test_damaged_cache_is_compiled_anew(tmp_path: Path, damage: str) -> None:
    path, cache = file(tmp_path, "a.pb", GREETER), tmp_path / "cache"
    lowerer = CountingLowerer()
    first = await compile_program([path], lowerer=lowerer, cache_dir=cache)
    next(cache.iterdir()).write_text(damage)
    assert await compile_program([path], lowerer=lowerer, cache_dir=cache) == first
    assert len(lowerer.agents) == 2


async def test_cache_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    path, cache = file(tmp_path, "a.pb", GREETER), file(tmp_path, "cache", "a file")
    result = await compile_program([path], lowerer=CountingLowerer(), cache_dir=cache)
    assert result.program.agents[0].name == "Greeter"


async def test_error_of_the_model_comes_through_as_it_is(tmp_path: Path) -> None:
    path = file(tmp_path, "a.pb", GREETER + "# Second\n")
    with pytest.raises(LLMUnavailable, match="no model"):
        await compile_program([path], lowerer=CountingLowerer(error=LLMUnavailable("no model is configured")))


async def test_bad_pbasm_is_refused_at_its_line(tmp_path: Path) -> None:
    path = file(tmp_path, "a.pbasm", "# A\n## Main()\n### Steps\n- 01:JMP 02\n")
    with pytest.raises(ProgramRejected, match=r"a\.pbasm:4:6: error: this jumps to step 02"):
        await compiled(path)


async def test_json_says_everything_about_the_program() -> None:
    plain = to_json((await compiled(EXAMPLES / "two_agents.pb")).program)
    assert json.loads(json.dumps(plain)) == plain
    forecast = plain["agents"][1]["playbooks"][1]
    assert forecast["name"] == "GetForecast"
    assert forecast["metadata"] == {"public": True}
    assert forecast["params"] == [{"name": "city", "state": True, "type": "str", "default": None}]
    assert forecast["steps"][1]["children"][0]["op"] == "RET"
    assert forecast["steps"][0]["span"].endswith("two_agents.pb:31:3")
