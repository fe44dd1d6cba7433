"""Steps that end, leave, return, go, wait and call: forty programs judged by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.frames import done_otherwise, rows

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent / "course"


async def test_forty_programs_do_what_people_read_but_for_a_table_that_only_gets_shorter() -> None:
    known = dict(rows(FOLDER / "disagreements.md"))
    assert await done_otherwise(FOLDER / "programs.md") == sorted(known["words"] + known["free"] + known["silent"])
