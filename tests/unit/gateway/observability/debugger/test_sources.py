"""Where steps stand: in the files of their authors, also imported and reloaded ones, and in the PBAsm."""

from pathlib import Path

import pytest

from gateway.observability.debugger.sources import Place, ProgramSources, StopSpot
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from tests.unit.runtime.sessions.programs import compiled

ROOT = Path(__file__).parents[5]
EXAMPLES = sorted((ROOT / "examples").glob("*.pb"))

OUTER = """\
# Outer
## Main
### Steps
- Think of a $number
- While the $number is greater than 3
  - Take one from the $number,
    as you please
  - !not an import
- If the $number is 3, say so; otherwise say nothing
!import inner.md
"""

INNER = """\
- Tell the user that it is done

## Later
### Steps
- Thank the user
  and mean it
"""


async def sources_of(*files: Path) -> tuple[Program, ProgramSources]:
    program = (await compile_program(files, lowerer=RulesLowerer())).program
    return program, ProgramSources({"x": program})


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
async def test_every_step_stands_where_its_author_wrote_it(file: Path) -> None:
    program, sources = await sources_of(file)
    written, pbasm = lines_of(file), program.pbasm.splitlines()
    seen = 0
    for agent in program.agents:
        for playbook in agent.playbooks:
            for step in playbook.walk_steps():
                own, other = sources.places(program, StopSpot("step", agent.name, playbook.name, step.line))
                assert own.source == str(file)
                assert written[own.line - 1].lstrip()[:1] in tuple("-*0123456789"), (step, own)
                assert pbasm[other.line - 1].lstrip("- ").startswith(f"{step.line}:{step.op}")
                assert sources.nearest(own) == own
                seen += 1
    assert seen or file.stem in ("scout", "tour", "weather"), "these have no steps"


async def test_steps_of_several_lines_and_of_imported_files_keep_their_lines(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.pb", tmp_path / "inner.md"
    outer.write_text(OUTER.replace("  - !not an import\n", ""))
    inner.write_text(INNER)
    program, sources = await sources_of(outer)
    lines = sources.lines(str(outer), 1, 100)
    assert lines == [2, 4, 5, 6, 8]
    assert sources.lines(str(inner), 1, 100) == [1, 3, 5]
    assert sources.nearest(Place(str(outer), 7)) == Place(str(outer), 6)
    assert sources.nearest(Place(str(inner), 6)) == Place(str(inner), 5)
    assert sources.nearest(Place(str(inner), 2)) == Place(str(inner), 3)
    assert sources.nearest(Place(str(tmp_path / "other.pb"), 1)) is None
    assert str(tmp_path / "other.pb") not in sources.all
    assert sources.program(2) is None
    assert sources.program(1) == program


async def test_a_program_of_pbasm_is_its_own_source(tmp_path: Path) -> None:
    file = tmp_path / "small.pbasm"
    file.write_text(
        "<!-- PBAsm 1 -->\n\n# Small\n\n## Main()\n### Steps\n- 01:QUE Say(user, Hello)\n- 02:YLD for exit\n"
    )
    program, sources = await sources_of(file)
    own, other = sources.places(program, StopSpot("step", "Small", "Main", "02"))
    assert own == Place(str(file), 8)
    assert other.source == 1


TEXT = "# Asker\nAsks.\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say hello\n"


async def test_a_reloaded_program_has_its_own_places_and_listing_beside_those_of_its_earlier_version() -> None:
    old, new = await compiled(TEXT), await compiled(TEXT.replace("- Say hello", "- Say welcome\n- Say hello"))
    sources = ProgramSources({"test": old})
    sources.take(new)
    sources.take(new)
    assert (sources.program(1), sources.program(2)) == (old, new)
    assert sources.program(3) is None
    assert sources.places(new, StopSpot("step", "Asker", "Main", "02"))[0].line == 9
    assert sources.places(old, StopSpot("step", "Asker", "Main", "01"))[0].line == 8
