"""What people have read stays, whichever process dies while a text is written whose parts are alike."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import anyio
import pytest
from msgspec.structs import replace

from adapters.capabilities import Capabilities
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.rig import PLATFORMS, Rig, live
from tests.sampling import sample
from tests.unit.runtime.execution.speech.alike import IN_A_ROW, TEXTS
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_sweep import LIMIT_S, Company
from tests.unit.runtime.sessions.programs import agent, program, walked

PIECE_S = 0.4

PLACES: Mapping[str, Capabilities] = {
    name: replace(kind, max_text=60) if "parts" in name else kind for name, kind in PLATFORMS.items()
}

STEPS = (4, 5, 7)
"""How many points after the last death the next one comes, in lives with many."""

MOST_DEATHS = 20

LEAST_DEATHS = 14
"""For each of eight texts on each of nine platforms, which makes a thousand."""

_FRAME = re.compile(r"```(?:python)?|\|name\|ok\|\|---\|---\|")
"""What each message has of its own that has a part of some code, or of the table."""


def case_of(text: str) -> Case:
    steps = walked("Main", "01:QUE Say(user, Sing to the user)", "02:YLD for exit", begins=True)
    return Case(program(agent("Singer", steps)), ("hi",), (text,), told=((".", "", text),), piece_s=PIECE_S)


class Singer(Company):
    """Goes on behind the words that it is told, or writes them all again."""

    def _rest(self, answer: str, begun: str) -> str:
        assert answer.startswith(begun), begun
        self.gone_on += 1
        starts = [len(begun), len(begun), len(begun), 0]
        return answer[self.rng.choice(starts if answer not in IN_A_ROW else starts[:1]) :]


@dataclass
class Song:
    """One life of a text. `deaths` are the points at which the process dies."""

    name: str
    platform: str
    deaths: Sequence[int] = ()

    async def sung(self, sandbox: MontySandbox) -> Rig:
        case = case_of(TEXTS[self.name])
        rig = Rig(list(case.people), PLACES[self.platform], dict.fromkeys(self.deaths, "die"))
        singer = Singer(case, random.Random(self.name), rig.clock)
        with anyio.fail_after(LIMIT_S):
            await live(rig, case.program, singer, sandbox, busy="queue")
        return rig

    async def checked(self, sandbox: MontySandbox) -> Rig:
        """The world at its end. Raises AssertionError if anything that was read went away, even for a moment."""
        rig = await self.sung(sandbox)
        said = _letters(TEXTS[self.name])
        for states in rig.platform.seen.values():
            for (before, _), (after, messages) in pairwise((read_of(said, state), state) for state in states):
                assert after >= before, f"{self}: {said[:before][-60:]!r} became {messages}"
        assert [_bare(text) for text in rig.platform.pages] == [_bare(TEXTS[self.name])], f"{self}"
        return rig


def read_of(said: str, messages: Sequence[str]) -> int:
    """How much of a text can be read in messages, of which each goes on where the last one ended, or before that."""
    read = 0
    for text in map(_letters, messages):
        ends = [at + len(text) for at in range(read + 1) if said.startswith(text, at)]
        read = max([read, *ends])
    return read


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, _bare(text)))


def _bare(text: str) -> str:
    return _FRAME.sub("", "".join(text.split()))


def lives(platform: str, points: Mapping[str, int]) -> Iterator[Song]:
    """Lives of each text with many deaths, a few points after each other; in whole sweeps also one at each."""
    for name in points:
        step = STEPS[[*TEXTS].index(name) % len(STEPS)]
        yield Song(name, platform, range(step, step * (MOST_DEATHS + 1), step))
        if sample().is_whole:
            yield from (Song(name, platform, (point,)) for point in range(1, points[name] + 1))


@pytest.mark.parametrize("platform", PLACES)
async def test_what_people_have_read_stays_whenever_the_process_dies(platform: str, sandbox: MontySandbox) -> None:
    names, first = [*TEXTS], [*PLACES].index(platform) % len(TEXTS)
    calm = {name: await Song(name, platform).checked(sandbox) for name in sample().of(names[first:] + names[:first])}
    died: list[str] = []
    for song in lives(platform, {name: rig.points for name, rig in calm.items()}):
        died += (await song.checked(sandbox)).died
    for name, rig in calm.items():
        for kind in {*rig.boundaries} - {*died}:
            died += (await Song(name, platform, (rig.boundaries.index(kind) + 1,)).checked(sandbox)).died
    assert {kind for rig in calm.values() for kind in rig.boundaries} <= {*died}
    assert len(died) >= LEAST_DEATHS * len(calm)
