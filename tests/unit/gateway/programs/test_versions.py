"""The versions of programs in the database: found by digest, ordered by when they were taken up, and bounded. Roll
back: an earlier version is served until the file changes, over restarts, and nothing is read for that.
"""

from pathlib import Path

import pytest

from gateway.programs.reloading import ProgramReloading
from gateway.programs.versions import KEPT, KeptVersions, NoSuchVersion
from runtime.core.errors import ConfigError
from runtime.core.texts import english
from runtime.language.program import Program
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.programs.test_reloading import HELLO, Place
from tests.unit.runtime.sessions.programs import compiled


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


async def with_versions(folder: Path, *words: str) -> tuple[Place, ProgramReloading]:
    """A place that has served these versions, one after the other."""
    place = Place(folder)
    place.write(parley_toml='[[route]]\nprogram = "one.pb"\n', one_pb=HELLO.replace("hello", words[0]))
    reloading = await place.begin()
    for word in words[1:]:
        await place.clock.advance(60)
        place.write(one_pb=HELLO.replace("hello", word))
        await reloading.reload()
    await place.clock.advance(60)
    return place, reloading


def says(place: Place) -> str:
    """What the program that is served says."""
    return next(word for word in ("first", "second", "third", "fourth") if word in place.served["one"].pbasm)


async def test_the_version_before_is_served_and_owners_are_told_who_wanted_that(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second", "third")
    version = await place.pins.roll_back("one", by="Olga")
    await reloading.keep_to_pins()
    assert says(place) == "second"
    assert place.logged("program.rolled_back") == [{"program": "one", "version": version[:8], "by": "Olga"}]
    (told,) = place.told
    assert told.startswith(f"⏪ Olga rolled “one” back to version {version[:8]}.")
    await place.clock.advance(60)
    await place.pins.roll_back("one", by="Olga")  # one further back
    await reloading.keep_to_pins()
    assert says(place) == "first"


async def test_what_is_rolled_back_was_taken_up_last_so_conversations_at_rest_go_on_with_it(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second")
    version = await place.pins.roll_back("one")
    await reloading.keep_to_pins()
    assert (await place.pins.kept("one"))[0] == version


async def test_it_stays_over_a_restart_and_a_reload_that_finds_the_same_file(tmp_path: Path) -> None:
    place, _ = await with_versions(tmp_path, "first", "second")
    version = await place.pins.roll_back("one")
    reloading = await place.begin()
    assert says(place) == "first"
    done = await reloading.reload()
    assert says(place) == "first"
    assert done.told(english(), private=True) == (
        f"“one” was rolled back and stays at version {version[:8]} until its file changes."
    )


async def test_a_changed_file_ends_it_for_good(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second")
    await place.pins.roll_back("one")
    await reloading.keep_to_pins()
    await place.clock.advance(60)
    place.write(one_pb=HELLO.replace("hello", "third"))
    assert says(place) == "first"
    await reloading.reload()
    assert (says(place), await place.pins.in_force()) == ("third", {})
    await place.clock.advance(60)
    await place.pins.roll_back("one")  # the third is what is gone back from now
    (pin,) = (await place.pins.in_force()).values()
    assert pin.instead_of == place.served["one"].digest


async def test_the_first_node_with_new_files_leaves_the_others_rolled_back(tmp_path: Path) -> None:
    place, _ = await with_versions(tmp_path, "first", "second")
    await place.pins.roll_back("one")
    await place.begin()
    old = place.served
    await place.clock.advance(60)
    place.write(one_pb=HELLO.replace("hello", "third"))
    await place.begin()  # a node of the next deployment
    assert says(place) == "third"
    place.write(one_pb=HELLO.replace("hello", "second"))
    reloading = await place.begin()  # a node that has not been replaced yet, and starts again
    assert (says(place), place.served["one"].digest) == ("first", old["one"].digest)
    await reloading.keep_to_pins()
    assert says(place) == "first"
    await reloading.reload()
    assert says(place) == "first"


async def test_a_file_that_was_saved_and_not_reloaded_is_not_read_by_a_roll_back(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second")
    place.write(one_pb=HELLO.replace("hello", "third"))
    await place.pins.roll_back("one")
    await reloading.keep_to_pins()
    assert says(place) == "first"


async def test_the_version_of_the_file_takes_it_back(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second")
    newest = place.served["one"].digest
    await place.pins.roll_back("one")
    await reloading.keep_to_pins()
    await place.pins.roll_back("one", newest[:8])
    await reloading.keep_to_pins()
    assert (says(place), await place.pins.all()) == ("second", {})
    assert place.told[-1].startswith("“one” follows its file again")


async def test_a_version_that_cannot_be_served_with_the_settings_leaves_all_as_it_was(tmp_path: Path) -> None:
    place, reloading = await with_versions(tmp_path, "first", "second")

    def check(_: object, __: object, programs: object) -> None:
        if says_first(programs):
            raise ConfigError("it needs a server.")

    reloading.check = check
    await place.pins.roll_back("one")
    await reloading.keep_to_pins()
    assert (says(place), await place.pins.all()) == ("second", {})
    assert place.logged("program.refused")[-1]["error"] == "it cannot be rolled back: it needs a server."


def says_first(programs: object) -> bool:
    assert isinstance(programs, dict)
    return "first" in programs["one"].pbasm


async def test_a_node_that_has_the_earlier_file_leaves_the_pin_to_the_others(tmp_path: Path) -> None:
    place, _ = await with_versions(tmp_path, "first", "second")
    await place.pins.roll_back("one")
    place.write(one_pb=HELLO.replace("hello", "first"))
    await place.begin()
    assert says(place) == "first"
    assert list(await place.pins.all()) == ["one"]


@pytest.mark.parametrize(
    ("program", "version", "why"),
    [
        ("two", "", "No version of a program two is kept."),
        ("one", "zzz", "There is no version zzz of one. Kept are: "),
        ("one", "", "There is no earlier version of one. Kept are: "),
    ],
)
async def test_what_is_not_kept_is_refused_in_words(tmp_path: Path, program: str, version: str, why: str) -> None:
    place, _ = await with_versions(tmp_path, "first")
    with pytest.raises(NoSuchVersion, match=why):
        await place.pins.roll_back(program, version)
