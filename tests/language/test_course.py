"""Steps that end, leave, return, go, wait and call, loops and conditions: programs judged by hand."""

from pathlib import Path

import pytest

from tests.language.frames import done_otherwise, rows


@pytest.mark.parametrize("folder", ["course", "loops"])
async def test_programs_do_what_people_read_but_for_a_table_that_only_gets_shorter(folder: str) -> None:
    known = dict(rows((place := Path(__file__).parent / folder) / "disagreements.md"))
    assert await done_otherwise(place / "programs.md") == sorted(known["words"] + known["free"] + known["silent"])
