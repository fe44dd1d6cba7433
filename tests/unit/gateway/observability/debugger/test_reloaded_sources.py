"""The debugger knows the places of a program that was reloaded, and of the version that it stands in for."""

from gateway.observability.debugger.sources import ProgramSources, StopSpot
from tests.unit.runtime.sessions.programs import compiled

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
