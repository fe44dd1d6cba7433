"""The versions of programs in the database: found by digest, ordered by when they were taken up, and bounded."""

from __future__ import annotations

import pytest

from gateway.programs.versions import KEPT, KeptVersions
from runtime.language.program import Program
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.unit.runtime.sessions.programs import compiled

pytestmark = pytest.mark.anyio


async def text(says: str) -> Program:
    return await compiled(f"# Asker\nAsks.\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say {says}\n")


async def test_a_version_is_found_as_it_was_by_another_process() -> None:
    taken, texts, clock, program = MemoryRecords(), MemoryRecords(), FakeClock(), await text("hello ✓")
    await KeptVersions(taken, texts, clock).take_up([program])
    found = await KeptVersions(taken, texts, clock).find(program.digest)
    assert found is not None
    assert (found.name, found.digest, found.pbasm) == (program.name, program.digest, program.pbasm)


async def test_of_two_versions_the_one_is_newer_that_was_taken_up_later_again() -> None:
    clock = FakeClock()
    versions = KeptVersions(MemoryRecords(), MemoryRecords(), clock)
    old, new = await text("old"), await text("new")
    await versions.take_up([old])
    await clock.advance(1)
    await versions.take_up([new])
    assert await versions.is_newer(new.digest, old)
    await clock.advance(1)
    await versions.take_up([old])
    assert not await versions.is_newer(new.digest, old)
    assert not await versions.is_newer("unknown", old)


async def test_a_program_keeps_so_many_versions_and_no_more() -> None:
    clock, texts = FakeClock(), MemoryRecords()
    versions = KeptVersions(MemoryRecords(), texts, clock)
    programs = [await text(str(number)) for number in range(KEPT + 2)]
    for program in programs:
        await clock.advance(1)
        await versions.take_up([program])
    assert await versions.find(programs[1].digest) is None
    assert await versions.find(programs[2].digest) is not None
    assert len(texts.records) == KEPT


async def test_a_text_that_cannot_be_read_is_no_version() -> None:
    taken, texts, program = MemoryRecords(), MemoryRecords(), await text("hello")
    versions = KeptVersions(taken, texts, FakeClock())
    await versions.take_up([program])
    texts.records[program.digest] = "nonsense"
    assert await versions.find(program.digest) is None
