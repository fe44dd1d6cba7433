"""What happens in a run, as a function of its seed: who talks where with what, and what strikes when."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from tests.chaos.stories import STORIES, Said

Shape = Literal["alone", "wired", "pair"]
"""alone: a gateway with its own server · wired: a gateway, its server behind a wire · pair: two of those gateways."""

PlaceKind = Literal["telegram", "group", "slack", "slack direct", "discord", "discord direct", "web"]

SHAPES: tuple[Shape, ...] = ("alone", "wired", "pair")
PLACES: tuple[PlaceKind, ...] = ("telegram", "group", "slack", "slack direct", "discord", "discord direct", "web")

PRESSED: tuple[PlaceKind, ...] = ("telegram", "group", "slack", "slack direct")
"""Where a press is repeated until it was taken."""

_WORKSHOPS = {True: "asking-workshop", False: "workshop"}
"""The stories about tasks, with and without questions."""

EVERYWHERE = (
    "kill gateway",
    "stop gateway",
    "kill workers",
    "kill server",
    "kill server in rewrite",
    "cut platforms",
    "hang platforms",
    "slow platforms",
    "lose platform answers",
    "cut model",
    "clock forward",
    "clock back",
    "full disk",
)
WITH_OWN_SERVER = ("kill gateway and server",)
WITH_WIRE = ("cut server wire", "hang server wire", "slow server wire", "lose server answers")
WITH_TWO = ("freeze gateway",)
KILLS = ("kill gateway", "kill workers", "kill server", "kill server in rewrite")
KINDS = (*EVERYWHERE, *WITH_OWN_SERVER, *WITH_WIRE, *WITH_TWO)

_LASTS_S = {
    "hang platforms": (0.5, 3.0),
    "slow platforms": (0.5, 2.0),
    "cut platforms": (0.0, 1.5),
    "lose platform answers": (0.1, 0.6),
    "cut model": (0.0, 0.8),
    "cut server wire": (0.0, 2.0),
    "hang server wire": (0.5, 6.0),
    "slow server wire": (0.3, 1.5),
    "lose server answers": (0.05, 0.5),
    "full disk": (1.5, 4.0),
    "freeze gateway": (4.0, 7.0),
    "kill gateway": (0.0, 0.5),
    "kill server": (0.0, 0.3),
    "kill server in rewrite": (0.0, 0.3),
}
_DEEDS_WITHIN_S = 1.5
_STRIKES_WITHIN_S = 1.2
_WITH_MODEL = 0.35
"""How many runs have a model; loading its library takes a gateway seconds."""

_IN_THE_HOUSE = {False: 0.5, True: 0.15}
"""How many conversations are held in the house, without and with a model; it has most to do."""

_SECOND_STRIKES = 0.8
"""How often another fault strikes while the first is being recovered from."""


class Cast(Struct, frozen=True):
    """One conversation: where, and about which program."""

    place: PlaceKind
    story: str


class Deed(Struct, frozen=True):
    """Something that is said in a conversation, `at_s` after its round begins."""

    cast: int
    at_s: float
    said: Said


class Strike(Struct, frozen=True):
    """A fault: `lasts_s` until it is taken away, `node` the gateway that it is about, `size_s` how far clocks jump."""

    kind: str
    at_s: float
    lasts_s: float = 0.0
    node: int = 0
    size_s: float = 0.0


class Round(Struct, frozen=True):
    deeds: tuple[Deed, ...]
    strikes: tuple[Strike, ...]


@dataclass(frozen=True)
class Plan:
    """Equal seeds and options make equal plans."""

    seed: int
    shape: Shape
    casts: tuple[Cast, ...]
    rounds: tuple[Round, ...] = field(repr=False)

    def lines(self) -> Iterator[str]:
        """The plan for people."""
        yield f"seed {self.seed}: {self.shape}; " + ", ".join(f"{c.story} on {c.place}" for c in self.casts)
        for number, one in enumerate(self.rounds):
            deeds = ", ".join(f"{d.at_s:.2f} s #{d.cast} {d.said.text!r}" for d in one.deeds)
            strikes = ", ".join(
                f"{s.at_s:.2f} s {s.kind} (node {s.node}, {s.lasts_s:.2f} s, {s.size_s:+.0f} s)" for s in one.strikes
            )
            yield f"  round {number}: {deeds} | {strikes}"


def make_plan(
    seed: int,
    *,
    rounds: int = 12,
    shape: Shape | None = None,
    with_model: bool | None = None,
    without: Collection[str] = (),
    only: Sequence[str] = (),
    in_haste: bool = False,
    meetings: bool = True,
    tasks: bool = False,
    workshops: bool = True,
) -> Plan:
    """A seed's plan, which says what options do not: a calm round, then `rounds` more. Each kind of fault comes
    before any comes again.

    `without` leaves out kinds of faults, and everything else stays as it is; `only` are the kinds to choose from.
    `in_haste`, every fault is followed by another while it is recovered from; without `meetings`, which take their
    time, none are held. With `tasks` every conversation orders tasks; without `workshops` none does.
    """
    chance = random.Random(f"plan {seed}")
    by_lot: Shape = chance.choice(SHAPES)
    shape = shape or by_lot
    by_chance = chance.random() < _WITH_MODEL
    casts = tuple(_casts(chance, with_model=by_chance if with_model is None else with_model))
    if workshops:
        casts += (Cast("telegram", _WORKSHOPS[True]), Cast("web", _WORKSHOPS[False]))
    if tasks:
        casts = tuple(Cast(cast.place, _WORKSHOPS[cast.place in PRESSED]) for cast in casts)
    kinds = _kinds(chance, only or kinds_of(shape))
    said: list[list[Said]] = [[] for _ in casts]
    made = [Round(tuple(_beginnings(chance, casts, said)), ())]
    for _ in range(rounds):
        deeds = tuple(_deeds(chance, casts, said, meetings=meetings))
        strikes = _strikes(chance, kinds, shape, second=1.0 if in_haste else _SECOND_STRIKES)
        made.append(Round(deeds, tuple(strike for strike in strikes if strike.kind not in without)))
    return Plan(seed, shape, casts, tuple(made))


def kinds_of(shape: Shape) -> tuple[str, ...]:
    """The faults that can strike a run of this shape."""
    match shape:
        case "alone":
            return (*EVERYWHERE, *WITH_OWN_SERVER)
        case "wired":
            return (*EVERYWHERE, *WITH_WIRE)
        case "pair":
            return (*EVERYWHERE, *WITH_WIRE, *WITH_TWO)


def _casts(chance: random.Random, *, with_model: bool) -> Iterator[Cast]:
    """Each kind of place once, and some twice."""
    fitting = [story.name for story in STORIES.values() if story.needs_model is with_model]
    stories = [name for name in fitting if name not in _WORKSHOPS.values()]
    for place in (*PLACES, "telegram", "web", "telegram"):
        yield Cast(place, "house" if chance.random() < _IN_THE_HOUSE[with_model] else chance.choice(stories))


def _kinds(chance: random.Random, kinds: Sequence[str]) -> Iterator[str]:
    while True:
        yield from chance.sample(kinds, len(kinds))


def _beginnings(chance: random.Random, casts: Sequence[Cast], said: list[list[Said]]) -> Iterator[Deed]:
    """What is said before anything strikes: Discord lists no private chats for bots, so one that begins while nobody
    listens is not found (docs/chats/discord.md)."""
    for number, cast in enumerate(casts):
        if cast.place == "discord direct":
            said[number].append(STORIES[cast.story].speaks(chance, (), 1000 * number))
            yield Deed(number, 0.0, said[number][0])


def _deeds(chance: random.Random, casts: Sequence[Cast], said: list[list[Said]], *, meetings: bool) -> Iterator[Deed]:
    """What people say in one round, at most three things in a conversation, in the order of time within each."""
    for number, cast in enumerate(casts):
        if chance.random() < 0.25:
            continue
        times = sorted(chance.uniform(0.0, _DEEDS_WITHIN_S) for _ in range(chance.choice((1, 1, 2, 3))))
        for index, at_s in enumerate(times):
            one = _said(chance, cast, said[number], 1000 * number + len(said[number]))
            while one.text.startswith("meet") and not meetings:
                one = _said(chance, cast, said[number], 1000 * number + len(said[number]))
            if one.alone and index:
                break
            said[number].append(one)
            yield Deed(number, round(at_s, 2), one)
            if one.alone:
                break


def _said(chance: random.Random, cast: Cast, before: Sequence[Said], unique: int) -> Said:
    return STORIES[cast.story].speaks(chance, before, unique)


def _strikes(chance: random.Random, kinds: Iterator[str], shape: Shape, *, second: float) -> Iterator[Strike]:
    at_s = chance.uniform(0.0, _STRIKES_WITHIN_S)
    yield _strike(chance, next(kinds), at_s, shape)
    if chance.random() < second:
        yield _strike(chance, next(kinds), at_s + chance.uniform(0.0, 2.5), shape)


def _strike(chance: random.Random, kind: str, at_s: float, shape: Shape) -> Strike:
    low, high = _LASTS_S.get(kind, (0.0, 0.0))
    size_s = chance.choice((90.0, 600.0, 3600.0, 86_400.0)) * (-1 if kind == "clock back" else 1)
    node = chance.randrange(2) if shape == "pair" else 0
    return Strike(
        kind,
        round(at_s, 2),
        round(chance.uniform(low, high), 2),
        node,
        size_s if kind.startswith("clock") else 0.0,
    )
