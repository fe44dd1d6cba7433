"""A reload: what is right is served, what is wrong changes nothing and is told once."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gateway.programs.loading import ServedPrograms, compile_routes, routes_of
from gateway.programs.reloading import ProgramReloading, ProgramSet
from gateway.programs.versions import KeptVersions, PinnedPrograms, VersionPins
from gateway.settings.tree import Settings, load
from runtime.bus import Bus
from runtime.core.errors import ConfigError
from runtime.core.message import Choice
from runtime.core.texts import english
from runtime.events.happening import BusEvent
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

HELLO = "# Hello\nGreets.\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Say hello\n"
BROKEN = HELLO + "- While\n### Stepz\n- x\n"


class Place:
    """A folder with settings and programs, and what serves them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.events: list[BusEvent] = []
        self.applied: list[Settings] = []
        self.clock = FakeClock()
        self.taken, self.texts, self.pinned = MemoryRecords(), MemoryRecords(), MemoryRecords()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)

    def read(self) -> Settings:
        return load(directory=self.folder, environment={"PARLEY_DATA_DIR": str(self.folder / "data")})

    async def tell(self, notice: str, key: str, choices: Sequence[Choice] = (), **values: object) -> None:
        self.told.append(english()(key, **values))

    async def begin(self) -> ProgramReloading:
        settings, clock = self.read(), self.clock
        self.routes = routes_of(settings)
        self.served = ServedPrograms(await compile_routes(settings, self.routes))
        taken = self.taken
        versions = KeptVersions(taken, self.texts, clock)
        self.pins = VersionPins(self.pinned, taken, clock)
        pinned = PinnedPrograms(self.pins, versions, self.served)
        self.served.replace((await pinned.served(self.served))[0])
        await versions.take_up(self.served.values())
        bus = Bus(clock)
        bus.subscribe("*", self.events.append)
        made = ProgramReloading(
            ProgramSet(self.read, [], self.served, versions, pinned), settings, self.routes, clock, bus, self.tell
        )
        made.apply = self.applied.append
        return made

    def logged(self, name: str) -> list[Mapping[str, object]]:
        return [event.data for event in self.events if event.name == name]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write(parley_toml='[[route]]\nprogram = "one.pb"\n', one_pb=HELLO, two_pb=HELLO)
    return made


async def test_a_changed_program_is_served_from_then_on(place: Place) -> None:
    reloading = await place.begin()
    place.write(one_pb=HELLO.replace("hello", "good morning"))
    done = await reloading.reload()
    assert done.programs == ["one"]
    assert "good morning" in place.served["one"].pbasm
    assert [data["program"] for data in place.logged("program.reloaded")] == ["one"]
    assert done.told(english(), private=True).startswith("Now running in a new version: one.")


async def test_nothing_new_is_told_as_such_and_leaves_the_very_same_program(place: Place) -> None:
    reloading = await place.begin()
    before = place.served["one"]
    assert (await reloading.reload()).told(english(), private=True) == "Nothing has changed."
    assert place.served["one"] is before
    assert place.events == []


async def test_a_broken_file_leaves_its_program_and_is_told_once_with_its_place(place: Place) -> None:
    reloading = await place.begin()
    place.write(one_pb=BROKEN)
    done = await reloading.reload()
    await reloading.reload()
    assert "hello" in place.served["one"].pbasm
    assert len(place.logged("program.refused")) == 2
    (told,) = place.told
    assert "one.pb:10:" in told
    assert "could not reload “one”" in told
    assert done.told(english(), private=False) == (
        "⚠️ I could not reload one, so the old version keeps running. Write /reload in private to read why."
    )


async def test_a_fault_that_comes_again_after_it_was_corrected_is_told_again(place: Place) -> None:
    reloading = await place.begin()
    for text in (BROKEN, HELLO, BROKEN):
        place.write(one_pb=text)
        await reloading.reload()
    assert len(place.told) == 2


async def test_a_route_to_another_program_serves_it(place: Place) -> None:
    reloading = await place.begin()
    place.write(parley_toml='[[route]]\nprogram = "two.pb"\n[[route]]\nprogram = "one.pb"\ncommand = "one"\n')
    done = await reloading.reload()
    assert list(place.served) == ["two", "one"]
    assert done.settings.in_force == ("route",)
    assert place.routes.commands == {"one": "one"}


async def test_a_new_route_to_a_broken_program_changes_nothing_at_all(place: Place) -> None:
    reloading = await place.begin()
    place.write(parley_toml='[[route]]\nprogram = "two.pb"\n', two_pb=BROKEN)
    done = await reloading.reload()
    assert list(place.served) == ["one"]
    assert list(done.refused) == ["two"]
    assert place.applied == []


async def test_settings_that_are_wrong_change_nothing(place: Place) -> None:
    reloading = await place.begin()
    place.write(parley_toml="prot = 1\n", one_pb=HELLO.replace("hello", "good morning"))
    done = await reloading.reload()
    assert list(done.refused) == ["settings"]
    assert "hello" in place.served["one"].pbasm


async def test_settings_are_in_force_or_said_to_wait_for_a_restart(place: Place) -> None:
    reloading = await place.begin()
    toml = '[[route]]\nprogram = "one.pb"\n[limits]\nperson_messages_per_day = 3\n[web]\nport = 1\nowners = ["ada"]\n'
    place.write(parley_toml=toml)
    done = await reloading.reload()
    assert done.settings.in_force == ("web.owners", "limits.person_messages_per_day")
    assert done.settings.wait == ("web.port",)
    assert place.applied[0].limits.person_messages_per_day == 3
    assert (await reloading.reload()).told(english(), private=True) == "Nothing has changed."


async def test_what_cannot_be_served_with_the_settings_changes_nothing(place: Place) -> None:
    reloading = await place.begin()

    def refuse(*_: object) -> None:
        raise ConfigError("no such model")

    reloading.check = refuse
    place.write(one_pb=HELLO.replace("hello", "good morning"))
    done = await reloading.reload()
    assert done.refused == {"settings": "no such model"}
    assert "hello" in place.served["one"].pbasm
